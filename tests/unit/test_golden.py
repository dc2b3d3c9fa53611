"""Figures that published write-ups state, recomputed by the functions that the tables of a booking are made with.

tests/golden/golden.csv: a row of status OK is met within its tolerance; one of status MISMATCH is a claim that its own
inputs contradict, and that no function here may reproduce.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from benchbook.claims import busy, memory, price, step_floor
from benchbook.derive import little, waves
from benchbook.engines import vllm_layout
from benchbook.engines.vllm_layout import Layout
from benchbook.statistics import ratios, step_models

with (Path(__file__).parents[1] / "golden" / "golden.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))


def read(dense, sl, k, E, B):
    return step_floor.step_bytes(dense, sl, step_floor.coverage(k, E, B))


def least_ms(dense, sl, k, E, B, bw):
    return step_floor.floor_ms(read(dense, sl, k, E, B), bw)


def slice_gb(experts_gib, ranks):
    return step_floor.per_gpu(memory.gb_of_gib(experts_gib), ranks)


def sweeps_per_s(gb, bw):
    return step_floor.steps_per_s(step_floor.floor_ms(gb, bw))


def on_a_rank(C, ranks):
    return Layout(ranks=ranks).sequences(C)


def of_both_tables(per):
    return memory.all_gib(2, per)


def shrunk(before, after):
    return -memory.grown_gib(before, after)


def by_little_as_measured(lout, N, e2el, D):
    return little.throughput_tok_s(little.in_flight_mean(N * e2el, D), lout, e2el)


def full_wave(m, D, r, N, W, C):
    assert (waves.last_wave(N, C), N // C) == (r, W)
    return waves.full_wave_e2el_s(m, D, N, C)


def stalled_warmup(N, C, lout, ttft, tpot, p90):
    clean_s = waves.wall_s(N, C, waves.e2el_s(ttft, tpot, lout))
    return waves.throughput_tok_s(N, lout, waves.with_stall_s(clean_s, p90 - ttft))


def back_cast(peak, a, b):
    return ratios.undone(peak, a, a, b, b)


def toll_share(flat, a, b, n):
    return step_models.fixed_share(flat, step_models.step(a, b, n))


def slope(t1, t16):
    return step_models.through(1, t1, 16, t16)[1]


# The function of ours that recomputes a row, and the row's inputs in the order it takes them.
OURS = {
    "cov_128": (step_floor.coverage, "k E B"),
    "cov_512": (step_floor.coverage, "k E B"),
    "slice_gib": (step_floor.per_gpu, "experts_gib ranks"),
    "slice_gb": (slice_gb, "experts_gib ranks"),
    "bytes_2seq": (read, "dense sl k E B"),
    "bytes_16seq": (read, "dense sl k E B"),
    "floor_2seq": (least_ms, "dense sl k E B bw"),
    "floor_16seq": (least_ms, "dense sl k E B bw"),
    "ratio_low": (step_floor.over_floor, "t floor"),
    "ratio_high": (step_floor.over_floor, "t floor"),
    "floor_c64": (least_ms, "dense sl k E B bw"),
    "gap_c64": (step_floor.gap_ms, "t floor"),
    "kv_need": (memory.kv_tokens_needed, "C ranks lin lout"),
    "kv_bytes_tok": (memory.kv_bytes_per_token, "gib tok"),
    "kv_conc_1m": (memory.requests_that_fit, "tok ctx"),
    "block_table_4k": (memory.block_table_entries, "ctx blk"),
    "gpu_hour": (price.gpu_usd_per_hour, "per_s"),
    "node_hour": (price.node_usd_per_hour, "n gpu cores core mem gib"),
    "bill_sum": (price.bill_usd, "gpu mem cpu"),
    "boot_fail_share": (price.share, "fail total"),
    "usd_mtok_base": (price.usd_per_mtok, "usd_h tps"),
    "usd_mtok_peak": (price.usd_per_mtok, "usd_h tps"),
    "little_c32": (little.throughput_tok_s, "C lout e2el"),
    "waves_100_32": (waves.waves, "N C"),
    "last_wave": (waves.last_wave, "N C"),
    "wall_4waves": (waves.wall_s, "N C e2el"),
    "tokens_100": (waves.output_tokens, "N lout"),
    "tps_100_round": (waves.throughput_tok_s, "N lout D"),
    "whole_vs_partial": (ratios.change, "full part"),
    "tps_from_L": (by_little_as_measured, "lout N e2el D"),
    "e2el_32_solved": (full_wave, "m D r N W C"),
    "e2el_128": (little.e2el_s, "C lout tps"),
    "waves_2048_run": (waves.duration_s, "N lout tps"),
    "speedup_33": (ratios.ratio, "peak base"),
    "eff_c16": (little.efficiency, "share"),
    "eff_c2048": (little.efficiency, "share"),
    "growth_chain": (back_cast, "peak a b"),
    "seqs_2": (on_a_rank, "C ranks"),
    "seqs_16": (on_a_rank, "C ranks"),
    "tpot_flat": (ratios.change, "hi lo"),
    "tpot_p99": (ratios.change, "p99 mean"),
    "toll_share_256": (toll_share, "flat a b n"),
    "hinge_n0": (step_models.crossing, "flat a b"),
    "asymptote_node": (step_models.asymptote, "ranks b"),
    "idle_16": (busy.idle_ms, "u t"),
    "idle_256": (busy.idle_ms, "u t"),
    "busy_256": (busy.busy_ms, "u t"),
    "window_cover": (busy.window_cover, "run w"),
    "util_if_padded": (busy.utilization_if_padded, "u w run"),
    "power_frac_hi": (ratios.ratio, "p cap"),
    "power_frac_lo": (ratios.ratio, "p cap"),
    "budget_092": (memory.budget_gib, "f mem"),
    "kv_boot": (memory.kv_gib, "budget used act"),
    "free_after_kv": (memory.free_gib, "mem used kv"),
    "extra_095": (memory.budget_change_gib, "a b mem"),
    "engram_node": (memory.all_gib, "ranks per"),
    "engram_rank": (of_both_tables, "per"),
    "engram_load": (memory.grown_gib, "before after"),
    "engram_kv": (shrunk, "before after"),
    "pair_1024": (ratios.points_apart, "a b"),
    "stall_frac_warm": (busy.stalled_share, "mean base p90"),
    "stall_frac_c64": (busy.stalled_share, "mean med p90"),
    "warm_stalled": (stalled_warmup, "N C lout ttft tpot p90"),
    "warm_stalled_ttft": (waves.ttft_mean, "N C ttft p90"),
    "warm_spread": (ratios.change, "hi lo"),
    "sweep_ms": (step_floor.floor_ms, "gb bw"),
    "steps_s": (sweeps_per_s, "gb bw"),
    "seqs_needed_a2": (step_floor.sequences_for, "target a sps"),
    "capture_seqs": (vllm_layout.sequences_in_graph, "cap depth"),
    "busy_frac": (ratios.ratio, "busy step"),
    "step_rate_c160": (step_floor.steps_per_s, "step"),
    "fc1_gain": (ratios.ratio, "a b"),
    "fc2_gain": (ratios.ratio, "a b"),
    "prime_gain": (ratios.ratio, "a b"),
    "lin_c1": (step_models.step, "a b n"),
    "lin_c16": (step_models.step, "a b n"),
    "slope": (slope, "t1 t16"),
    "pred_c64": (step_models.step, "a b n"),
    "mem_gib": (memory.gib_of_mib, "mib"),
    "pool_070": (memory.budget_gib, "f mem"),
    "rest_070": (memory.outside_budget_gib, "f mem"),
    "pool_060": (memory.budget_gib, "f mem"),
    "freed": (memory.budget_change_gib, "a b mem"),
    "rest_060": (memory.outside_budget_gib, "f mem"),
}


def of_status(status):
    return [pytest.param(row, id=row["id"]) for row in ROWS if row["status"] == status]


def ours(row):
    function, names = OURS[row["id"]]
    inputs = json.loads(row["inputs_json"])
    assert set(inputs) == set(names.split())
    return float(function(*(inputs[name] for name in names.split())))


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
