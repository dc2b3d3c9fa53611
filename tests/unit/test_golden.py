"""Figures that published write-ups state, recomputed by the functions that the tables of a booking are made with.

tests/golden/golden.csv: a row of status OK is met within its tolerance; one of status MISMATCH is a claim that its own
inputs contradict, and that no function here may reproduce.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from benchbook.claims import busy, byte_floor, memory, price
from benchbook.derive import little, waves
from benchbook.engines import vllm_layout
from benchbook.engines.vllm_layout import Layout
from benchbook.statistics import ratios, step_models

with (Path(__file__).parents[1] / "golden" / "golden.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))


def covered(k, E, B):
    return byte_floor.coverage(k, E, B)


def read(dense, sl, k, E, B):
    return byte_floor.step_bytes(dense, sl, byte_floor.coverage(k, E, B))


def least_ms(dense, sl, k, E, B, bw):
    return byte_floor.floor_ms(read(dense, sl, k, E, B), bw)


def slice_gib(experts_gib, ranks):
    return byte_floor.per_gpu(experts_gib, ranks)


def slice_gb(experts_gib, ranks):
    return byte_floor.per_gpu(memory.gb_of_gib(experts_gib), ranks)


def over_floor(t, floor):
    return byte_floor.over_floor(t, floor)


def gap(t, floor):
    return byte_floor.gap_ms(t, floor)


def sweep(gb, bw):
    return byte_floor.floor_ms(gb, bw)


def sweeps_per_s(gb, bw):
    return byte_floor.steps_per_s(byte_floor.floor_ms(gb, bw))


def sequences_for(target, a, sps):
    return byte_floor.sequences_for(target, a, sps)


def steps_per_s(step):
    return byte_floor.steps_per_s(step)


def in_graph(cap, depth):
    return vllm_layout.sequences_in_graph(cap, depth)


def on_a_rank(C, ranks):
    return Layout(ranks=ranks).sequences(C)


def kv_need(C, ranks, lin, lout):
    return memory.kv_tokens_needed(C, ranks, lin, lout)


def kv_bytes(gib, tok):
    return memory.kv_bytes_per_token(gib, tok)


def kv_requests(tok, ctx):
    return memory.requests_that_fit(tok, ctx)


def block_table(ctx, blk):
    return memory.block_table_entries(ctx, blk)


def budget(f, mem):
    return memory.budget_gib(f, mem)


def outside(f, mem):
    return memory.outside_budget_gib(f, mem)


def budget_change(a, b, mem):
    return memory.budget_change_gib(a, b, mem)


def kv_boot(budget, used, act):
    return memory.kv_gib(budget, used, act)


def free_after_kv(mem, used, kv):
    return memory.free_gib(mem, used, kv)


def of_all_ranks(ranks, per):
    return memory.all_gib(ranks, per)


def of_both_tables(per):
    return memory.all_gib(2, per)


def grown(before, after):
    return memory.grown_gib(before, after)


def shrunk(before, after):
    return -memory.grown_gib(before, after)


def mib(mib):
    return memory.gib_of_mib(mib)


def gpu_hour(per_s):
    return price.gpu_usd_per_hour(per_s)


def node_hour(n, gpu, cores, core, mem, gib):
    return price.node_usd_per_hour(n, gpu, cores, core, mem, gib)


def bill(gpu, mem, cpu):
    return price.bill_usd(gpu, mem, cpu)


def failed_boots(fail, total):
    return price.share(fail, total)


def usd_per_mtok(usd_h, tps):
    return price.usd_per_mtok(usd_h, tps)


def by_little(lout, C, e2el):
    return little.throughput_tok_s(C, lout, e2el)


def by_little_as_measured(lout, N, e2el, D):
    return little.throughput_tok_s(little.in_flight_mean(N * e2el, D), lout, e2el)


def e2el_by_little(lout, C, tps):
    return little.e2el_s(C, lout, tps)


def efficiency(share):
    return little.efficiency(share)


def number_of_waves(N, C):
    return waves.waves(N, C)


def last_wave(N, C):
    return waves.last_wave(N, C)


def wall(N, C, e2el):
    return waves.wall_s(N, C, e2el)


def tokens(N, lout):
    return waves.output_tokens(N, lout)


def throughput(N, lout, D):
    return waves.throughput_tok_s(N, lout, D)


def duration(N, lout, tps):
    return waves.duration_s(N, lout, tps)


def full_wave(m, D, r, N, W, C):
    assert (waves.last_wave(N, C), N // C) == (r, W)
    return waves.full_wave_e2el_s(m, D, N, C)


def stalled_warmup(N, C, lout, ttft, tpot, p90):
    clean_s = waves.wall_s(N, C, waves.e2el_s(ttft, tpot, lout))
    return waves.throughput_tok_s(N, lout, waves.with_stall_s(clean_s, p90 - ttft))


def stalled_warmup_ttft(N, C, ttft, p90):
    return waves.ttft_mean(N, C, ttft, p90)


def larger_by(hi, lo):
    return ratios.change(hi, lo)


def whole_against_partial(full, part):
    return ratios.change(full, part)


def p99_against_mean(p99, mean):
    return ratios.change(p99, mean)


def speedup(peak, base):
    return ratios.ratio(peak, base)


def gain(a, b):
    return ratios.ratio(a, b)


def share_of_the_cap(p, cap):
    return ratios.ratio(p, cap)


def share_of_the_step(busy, step):
    return ratios.ratio(busy, step)


def back_cast(peak, a, b):
    return ratios.undone(peak, a, a, b, b)


def apart(a, b):
    return ratios.points_apart(a, b)


def toll_share(flat, a, b, n):
    return step_models.fixed_share(flat, step_models.step(a, b, n))


def hinge(flat, a, b):
    return step_models.crossing(flat, a, b)


def asymptote(ranks, b):
    return step_models.asymptote(ranks, b)


def on_the_line(a, b, n):
    return step_models.step(a, b, n)


def slope(t1, t16):
    return step_models.through(1, t1, 16, t16)[1]


def idle(u, t):
    return busy.idle_ms(u, t)


def busy_time(u, t):
    return busy.busy_ms(u, t)


def window_cover(run, w):
    return busy.window_cover(run, w)


def utilization_if_padded(u, w, run):
    return busy.utilization_if_padded(u, w, run)


def stalled_in_warmup(mean, base, p90):
    return busy.stalled_share(mean, base, p90)


def stalled(mean, med, p90):
    return busy.stalled_share(mean, med, p90)


OURS = {
    "cov_128": covered, "cov_512": covered, "slice_gib": slice_gib, "slice_gb": slice_gb, "bytes_2seq": read,
    "bytes_16seq": read, "floor_2seq": least_ms, "floor_16seq": least_ms, "ratio_low": over_floor,
    "ratio_high": over_floor, "floor_c64": least_ms, "gap_c64": gap, "kv_need": kv_need, "kv_bytes_tok": kv_bytes,
    "kv_conc_1m": kv_requests, "block_table_4k": block_table, "gpu_hour": gpu_hour, "node_hour": node_hour,
    "bill_sum": bill, "boot_fail_share": failed_boots, "usd_mtok_base": usd_per_mtok, "usd_mtok_peak": usd_per_mtok,
    "little_c32": by_little, "waves_100_32": number_of_waves, "last_wave": last_wave, "wall_4waves": wall,
    "tokens_100": tokens, "tps_100_round": throughput, "whole_vs_partial": whole_against_partial,
    "tps_from_L": by_little_as_measured, "e2el_32_solved": full_wave, "e2el_128": e2el_by_little,
    "waves_2048_run": duration, "speedup_33": speedup, "eff_c16": efficiency, "eff_c2048": efficiency,
    "growth_chain": back_cast, "seqs_2": on_a_rank, "seqs_16": on_a_rank, "tpot_flat": larger_by,
    "tpot_p99": p99_against_mean, "toll_share_256": toll_share, "hinge_n0": hinge, "asymptote_node": asymptote,
    "idle_16": idle, "idle_256": idle, "busy_256": busy_time, "window_cover": window_cover,
    "util_if_padded": utilization_if_padded, "power_frac_hi": share_of_the_cap, "power_frac_lo": share_of_the_cap,
    "budget_092": budget, "kv_boot": kv_boot, "free_after_kv": free_after_kv, "extra_095": budget_change,
    "engram_node": of_all_ranks, "engram_rank": of_both_tables, "engram_load": grown, "engram_kv": shrunk,
    "pair_1024": apart, "stall_frac_warm": stalled_in_warmup, "stall_frac_c64": stalled, "warm_stalled": stalled_warmup,
    "warm_stalled_ttft": stalled_warmup_ttft, "warm_spread": larger_by, "sweep_ms": sweep, "steps_s": sweeps_per_s,
    "seqs_needed_a2": sequences_for, "capture_seqs": in_graph, "busy_frac": share_of_the_step,
    "step_rate_c160": steps_per_s, "fc1_gain": gain, "fc2_gain": gain, "prime_gain": gain, "lin_c1": on_the_line,
    "lin_c16": on_the_line, "slope": slope, "pred_c64": on_the_line, "mem_gib": mib, "pool_070": budget,
    "rest_070": outside, "pool_060": budget, "freed": budget_change, "rest_060": outside,
}  # fmt: skip


def of_status(status):
    return [pytest.param(row, id=row["id"]) for row in ROWS if row["status"] == status]


def ours(row):
    return float(OURS[row["id"]](**json.loads(row["inputs_json"])))


def test_every_row_has_a_function_and_every_function_a_row():
    assert [row["id"] for row in ROWS if row["id"] not in OURS] == []
    assert set(OURS) == {row["id"] for row in ROWS}
    assert {row["status"] for row in ROWS} == {"OK", "MISMATCH"}


@pytest.mark.parametrize("row", of_status("OK"))
def test_a_stated_figure_is_met(row):
    value, expected, tolerance = ours(row), float(row["expected"]), float(row["tolerance"])
    assert abs(value - expected) <= tolerance * (1 + 1e-9) + 1e-12
    assert value == pytest.approx(float(row["recomputed"]), rel=1e-5)


@pytest.mark.parametrize("row", of_status("MISMATCH"))
def test_a_claim_that_its_inputs_contradict_is_not_reproduced(row):
    value, claimed, tolerance = ours(row), float(row["expected"]), float(row["tolerance"])
    assert abs(value - claimed) > tolerance
    assert value == pytest.approx(float(row["recomputed"]), rel=1e-5)


def test_the_bend_alone_reads_the_fixed_cost_low_by_slope_times_hinge():
    """17.0 from the flat region, 15.9 from the bend: bias of a known size, no spread between two estimates."""
    place = step_models.crossing(17.0, 15.9, 0.08)
    assert step_models.step(17.0, 0.08, 256, place) == pytest.approx(step_models.step(15.9, 0.08, 256))


def test_the_first_pair_of_the_thirty_millisecond_tax_gives_another_line():
    fixed, each = step_models.through(1, 71, 16, 533)
    assert (fixed, each) == (pytest.approx(40.2, abs=0.05), pytest.approx(30.8, abs=0.05))
    fixed, each = step_models.through(1, 84, 16, 536)
    assert (fixed, each) == (pytest.approx(53.9, abs=0.05), pytest.approx(30.13, abs=0.01))


def test_whole_waves_have_no_last_one_to_solve_for():
    with pytest.raises(ValueError, match="whole"):
        waves.full_wave_e2el_s(17.9, 71.6, 128, 32)
