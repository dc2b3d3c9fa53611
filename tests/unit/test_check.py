"""Results of other people's making, read by `benchbook check`: figures, tags and verdicts against known truth."""

from __future__ import annotations

import copy
import gzip
import json
from datetime import UTC, datetime

import pytest
from benchbook.check import examine, figures, json_result, load, text_result
from benchbook.check.examine import Beside
from benchbook.derive import tags
from benchforms import LOGS, RECORDINGS, noted, old, oracle, printed, sglang, simulated, without_lists
from hypothesis import given, settings
from hypothesis import strategies as st

STEADY = {"concurrency": 4, "num_prompts": 80, "lin": 8, "lout": 96, "ranks": 1, "t_fixed_ms": 20.0, "c_ms": 0.0}


def read(value, **beside):
    result = json_result.read(value, "r.json")
    return examine.examine(result, Beside(**beside))


def read_text(text, **beside):
    (result,) = text_result.read(text, "r.txt")
    return examine.examine(result, Beside(**beside))


def recorded(name):
    return json.loads(gzip.decompress((RECORDINGS / f"{name}.bench.json.gz").read_bytes()))


def beside(name, **more):
    telemetry = load.telemetry(RECORDINGS / f"{name}.telemetry.jsonl.gz", 0.0)
    return Beside(telemetry=telemetry, log=load.log(RECORDINGS / "base.server.log.gz"), **more)


@pytest.mark.parametrize("name", oracle.CONFIGS)
def test_a_result_reads_as_the_oracle_says(name):
    run, result = simulated(name)
    truth, told = oracle.metrics(run), read(result)["metrics"]
    assert told["output_tok_s"] == pytest.approx(truth["tok_s"], rel=1e-9)
    assert told["ttft_mean_ms"] == pytest.approx(truth["ttft_ms"], rel=1e-9)
    assert told["tpot_mean_ms"] == pytest.approx(truth["tpot_ms"], rel=1e-9)
    assert told["e2el_mean_s"] == pytest.approx(truth["e2el_s"], rel=1e-9)
    assert (told["completed"], told["failed"]) == (run.truth["completed"], run.truth["failed"])
    if not run.truth["failed"]:
        assert told["in_flight_mean"] == pytest.approx(run.truth["mean_inflight"], rel=1e-3)
        assert told["little_delta"] == pytest.approx(run.truth["wave_eff"] - 1, abs=2e-3)


@pytest.mark.parametrize("name", ["B_c16", "C_clean", "C_stall"])
@pytest.mark.parametrize("form", [without_lists, old, sglang, lambda result: sglang(result, details=False)],
                         ids=["aggregates", "old", "sglang", "sglang-aggregates"])  # fmt: skip
def test_every_form_gives_the_same_figures_or_none(name, form):
    _, result = simulated(name)
    whole, part = read(result)["metrics"], read(form(result))["metrics"]
    for key, value in part.items():
        if value is not None and key not in ("peak_tok_s", "window_s"):
            assert value == (pytest.approx(whole[key], rel=1e-6) if isinstance(value, float) else whole[key]), key
    for key in ("output_tok_s", "ttft_mean_ms", "tpot_mean_ms", "itl_median_ms", "e2el_mean_s", "little_delta"):
        assert part[key] is not None, key


@pytest.mark.parametrize("name", ["B_c16", "C_clean"])
def test_the_printed_block_gives_the_same_to_its_two_decimals(name):
    _, result = simulated(name)
    whole, part = read(result)["metrics"], read_text(printed(result))["metrics"]
    for key, value in part.items():
        if isinstance(value, float) and key != "partial_wave_error_pct":
            assert value == pytest.approx(whole[key], rel=2e-3, abs=6e-3), key
    assert part["e2el_mean_s"] is not None and part["little"] == whole["little"]


def test_a_clean_run_is_unreplicated_and_nothing_more():
    _, result = simulated(**STEADY)
    told = read(result)
    assert (told["verdict"], told["tags"], told["findings"]) == ("UNREPLICATED", [], [])
    assert "± 5.0 %" in told["reason"] and "no direction" in told["reason"]
    assert told["metrics"]["whole_waves"] is True and told["metrics"]["partial_wave_error_pct"] == 0


def test_partial_waves_are_predicted_and_tagged():
    shape = {"concurrency": 32, "lin": 64, "lout": 64, "t_fixed_ms": 17.2, "c_ms": 0.0}
    _, result = simulated(num_prompts=100, **shape)
    told = read(result)
    assert told["verdict"] == "CONFOUNDED" and "UNSTEADY" in told["tags"]
    assert told["metrics"]["partial_wave_error_pct"] == pytest.approx(100 * (3.125 / 4 - 1))
    _, whole = simulated(num_prompts=128, **shape)
    measured = result["output_throughput"] / whole["output_throughput"] - 1
    assert told["metrics"]["partial_wave_error_pct"] == pytest.approx(100 * measured, abs=0.5)
    assert any("21.9 % low" in warning for warning in told["warnings"])


def test_failed_requests_refuse_the_run_and_name_the_first_error():
    _, result = simulated("D_crash")
    told = read(result)
    assert told["verdict"] == "REFUSED" and told["tags"][0] == "INCOMPLETE"
    assert "server disconnected" in told["reason"]


def test_every_request_failed_is_null_never_zero():
    value = {"duration": 0.5, "completed": 0, "failed": 3, "num_prompts": 3, "max_concurrency": 1, "mean_ttft_ms": 0.0,
             "output_throughput": 0.0, "mean_tpot_ms": 0.0, "mean_itl_ms": 0.0}  # fmt: skip
    lists = {"ttfts": [0.0] * 3, "itls": [[]] * 3, "output_lens": [0] * 3, "input_lens": [8] * 3, "errors": ["no"] * 3}
    for result in (value, value | lists):
        told = read(result)
        assert told["verdict"] == "REFUSED" and "all 3 requests failed" in told["reason"]
        timed = ("output_tok_s", "ttft_mean_ms", "tpot_mean_ms", "itl_mean_ms", "e2el_mean_s", "stalls", "little")
        assert [told["metrics"][key] for key in timed] == [None] * len(timed)
    told = read_text((LOGS / "own-vllm-0.32-bench-all-failed.txt").read_text(encoding="utf-8"))
    assert told["verdict"] == "REFUSED" and told["metrics"]["failed"] == 4
    assert told["metrics"]["ttft_mean_ms"] is None and told["metrics"]["output_tok_s"] is None


def test_who_wrote_it():
    _, result = simulated(**STEADY)
    forms = [read(value)["form"] for value in (result, old(result), without_lists(result), sglang(result))]
    assert [form.split()[0] for form in forms] == ["vllm", "vllm", "vllm", "SGLang"]


def test_an_older_text_does_not_say_what_failed():
    _, result = simulated(**STEADY)
    told = read_text(printed(result, failed=False))
    assert told["metrics"]["failed"] is None and told["metrics"]["num_prompts"] is None
    assert told["metrics"]["waves"] == 20
    assert "failed requests" in [one["what"] for one in told["not_checked"]]


def test_asked_output_lengths():
    _, result = simulated(**STEADY)
    assert read(result, asked_tokens=96)["tags"] == []
    for value in (result, without_lists(result)):
        assert read(value, asked_tokens=128)["verdict"] == "REFUSED"
    result["output_lens"][7] = 40
    assert any("vllm#57519" in warning for warning in read(result)["warnings"])


def test_a_stall_is_found_by_request_or_proved_by_percentiles():
    _, result = simulated("C_stall")
    assert read(result)["metrics"]["stalls"] == 8 and "STALLED" in read(result)["tags"]
    part = read(without_lists(result))
    assert part["metrics"]["stalls"] is None and "STALLED" in part["tags"]
    _, clean = simulated("C_clean")
    assert "STALLED" not in read(clean)["tags"] + read(without_lists(clean))["tags"]
    told = read(without_lists(clean) | {"max_itl_ms": 1700.0})
    assert "STALLED" in told["tags"]


def test_two_groups_of_ttft_void_the_ttft():
    _, result = simulated(**(STEADY | {"num_prompts": 400}))
    for index in range(10, 400, 5):
        result["ttfts"][index] += 0.4
        result["latencies"][index] += 0.4
    told = read(result)
    assert "BIMODAL" in told["tags"] and "ttft_mean_ms" in told["void"]
    assert told["metrics"]["ttft_slow_share"] == pytest.approx(0.2, abs=0.02)
    assert read(old(result))["metrics"]["bimodal"] is None, "which requests are the first wave is not known"


def test_speculative_decoding_a_chunk_is_no_token():
    run, result = simulated("E_spec")
    accept = run.truth["accept_len"]
    unknown = read(result)["metrics"]
    assert unknown["itl_median_ms"] is None and unknown["tokens_per_chunk"] == pytest.approx(1.7, abs=0.03)
    known = read(result | {"spec_decode_acceptance_length": accept})["metrics"]
    assert known["itl_median_ms"] == pytest.approx(20.0) and known["step_ms"] == pytest.approx(20.0, rel=0.01)
    assert known["peak_tok_s"] >= known["output_tok_s"]
    peak = "Peak output token throughput (tok/s):    25.00\n"
    text = printed(result, accept=accept).replace("=" * 50, peak + "=" * 50)
    part = read_text(text)
    assert part["metrics"]["peak_tok_s"] is None
    assert part["metrics"]["tokens_per_chunk"] == pytest.approx(unknown["tokens_per_chunk"], rel=0.01)
    assert any("counts chunks" in warning for warning in part["warnings"])


def test_sglang_may_have_spread_its_gaps():
    _, result = simulated(**STEADY)
    own = read(sglang(result, backend="sglang"))
    assert own["form"].startswith("SGLang") and own["metrics"]["tokens_per_chunk"] is None
    assert own["metrics"]["itl_median_ms"] == pytest.approx(20.0)
    assert read(sglang(result))["metrics"]["tokens_per_chunk"] == pytest.approx(1.0)
    accepted = read(sglang(result, backend="sglang") | {"accept_length": 2.5})["metrics"]
    assert accepted["itl_median_ms"] is None and accepted["tokens_per_step"] == 2.5


def test_answers_in_one_piece_have_no_first_token():
    value = {"duration": 40.0, "completed": 8, "max_concurrency": 1, "ttfts": [5.0] * 8, "itls": [[]] * 8,
             "output_lens": [64] * 8, "input_lens": [8] * 8, "errors": [""] * 8, "latencies": [5.0] * 8,
             "start_times": [5.0 * n for n in range(8)]}  # fmt: skip
    told = read(value)
    assert told["metrics"]["ttft_mean_ms"] is None and told["metrics"]["tpot_mean_ms"] is None
    assert told["metrics"]["e2el_mean_s"] == 5.0 and any("one piece" in warning for warning in told["warnings"])


def test_latency_from_schedule_where_a_rate_is_set():
    waits = [0.4 * n for n in range(8)]
    value = {"duration": 4.0, "completed": 8, "request_rate": 10.0, "max_concurrency": 1, "input_lens": [8] * 8,
             "output_lens": [6] * 8, "ttfts": [0.1] * 8, "itls": [[0.08] * 5] * 8, "latencies": [0.5] * 8,
             "start_times": [100 + 0.5 * n for n in range(8)], "errors": [""] * 8, "queue_times": waits}  # fmt: skip
    told = read(value)
    assert told["metrics"]["e2el_mean_s"] == pytest.approx(0.5)
    assert told["metrics"]["e2el_schedule_mean_s"] == pytest.approx(0.5 + sum(waits) / 8)
    assert told["metrics"]["little"] is None and told["metrics"]["little_delta"] == pytest.approx(0, abs=1e-9)
    assert read(value | {"request_rate": float("inf")})["metrics"]["e2el_schedule_mean_s"] is None


def test_all_sent_at_once_was_never_steady():
    _, result = simulated(**(STEADY | {"concurrency": 80, "lout": 2048}))
    told = read(old(result) | {"max_concurrency": None})
    assert told["metrics"]["little_delta"] is None and told["tags"] == ["UNSTEADY"]
    assert any("at once" in finding["what"] for finding in told["findings"])


@pytest.mark.parametrize("key, factor", [("output_throughput", 1.01), ("mean_ttft_ms", 0.99), ("mean_tpot_ms", 1.02),
                                         ("mean_itl_ms", 1.02), ("total_output_tokens", 1.1)])  # fmt: skip
def test_a_figure_that_its_own_requests_contradict(key, factor):
    _, result = simulated(**STEADY)
    told = read(result | {key: result[key] * factor})
    assert told["tags"] == ["MISMATCH"] and told["verdict"] == "CONFOUNDED"
    assert read(result | {key: result[key] * (1 + (factor - 1) / 10)} if factor < 1.05 else result)["tags"] == []


def test_more_in_flight_than_the_limit_is_refused():
    _, result = simulated(**STEADY)
    told = read(result | {"max_concurrency": 2})
    assert told["verdict"] == "REFUSED" and "MISMATCH" in told["tags"] and "Little" in told["reason"]
    assert told["metrics"]["little_delta"] > 0.5


def test_lists_that_contradict_each_other_leave_the_totals():
    _, result = simulated(**STEADY)
    told = read(result | {"ttfts": result["ttfts"][:-1]})
    assert "MISMATCH" in told["tags"] and told["metrics"]["stalls"] is None
    assert told["metrics"]["output_tok_s"] == pytest.approx(result["output_throughput"])


def test_a_slow_client_is_seen_in_its_re_sends():
    _, result = simulated(**(STEADY | {"client_gap_s": 0.1}))
    told = read(result)
    assert "CLIENT" in told["tags"] and told["metrics"]["resend_gap_median_ms"] == pytest.approx(100, rel=0.01)


def scrapes(result, hits=0.0, tokens=None, **more):
    total = float(sum(result["input_lens"]))
    after = {'vllm:request_success_total{finished_reason="length"}': float(result["completed"]),
             "vllm:prompt_tokens_total": total, "vllm:generation_tokens_total": tokens or result["total_output_tokens"],
             "vllm:prefix_cache_queries_total": total, "vllm:prefix_cache_hits_total": hits * total,
             "vllm:num_preemptions_total": 2.0} | more  # fmt: skip
    return {name: 7.0 for name in after}, {name: 7.0 + value for name, value in after.items()}


def test_the_servers_count_beside_the_clients():
    _, result = simulated(**STEADY)
    told = read(result, scrapes=scrapes(result))
    assert told["tags"] == [] and told["metrics"]["prefix_hit_rate"] == 0 and told["metrics"]["preemptions"] == 2
    assert told["metrics"]["server_output_tokens"] == result["total_output_tokens"]
    assert "prefix-cache hits" not in [one["what"] for one in told["not_checked"]]
    assert read(result, scrapes=scrapes(result, hits=0.3))["tags"] == ["CACHED"]
    assert read(result, scrapes=scrapes(result, tokens=9000.0))["tags"] == ["MISMATCH"]
    part = read(without_lists(result), scrapes=scrapes(result, hits=0.3))
    assert part["metrics"]["prefix_hit_rate"] == pytest.approx(0.3) and part["tags"] == ["CACHED"]


def test_the_recording_naive_against_in_the_run():
    told = examine.examine(json_result.read(recorded("base-c64-r1"), "r"), beside("base-c64-r1", asked_tokens=256))
    seen = told["metrics"]
    assert seen["utilization_naive_pct"] == pytest.approx(50, abs=3)
    assert seen["power_naive_w"] == pytest.approx(363, abs=2)
    assert seen["utilization_run_pct"] == pytest.approx(99, abs=1)
    assert seen["power_run_w"] == pytest.approx(610, abs=15)
    assert abs(seen["little_delta"]) < 0.01 and seen["little"] == "pass"
    assert seen["telemetry_coverage"] > 0.95 and seen["late_compile_lines"] == 0
    assert seen["log_output_tokens"] == pytest.approx(65536, rel=0.005)
    assert seen["energy_j"] == pytest.approx(19.47 * 610, rel=0.05)
    assert "software power cap" in next(one["what"] for one in told["findings"] if one["tag"] == "THROTTLED")


@pytest.mark.parametrize("name, tok_s", [("base-c1-r1", 244), ("base-c8-r1", 857), ("base-c32-r1", 1964),
                                         ("base-c64-r1", 3366), ("base-c128-r1", 6089)])  # fmt: skip
def test_the_recorded_sweep(name, tok_s):
    told = read(recorded(name))
    assert told["metrics"]["output_tok_s"] == pytest.approx(tok_s, abs=0.5)
    assert abs(told["metrics"]["little_delta"]) < 0.01 and told["metrics"]["waves"] == 4
    assert told["tags"] == ["UNSTEADY"], "its steady windows are shorter than 30 s, and nothing else is wrong"


def test_the_recorded_runs_lie_on_one_clock():
    """All runs share the client's monotonic clock, so its place on the node's must come out the same."""
    offsets = []
    for name in ("base-c1-r1", "base-c8-r1", "base-c32-r1", "base-c64-r1", "base-c128-r1", "warm1", "warm2"):
        value = recorded(name)
        span, _ = examine._span(json_result.read(value, "r"), value["duration"], beside(name))
        offsets.append(span.start_s - min(value["start_times"]))
        assert span.error_s < 0.1
    assert max(offsets) - min(offsets) < 0.1


def test_without_scrapes_the_date_places_the_run_less_finely():
    lines = [line for line in beside("base-c64-r1").telemetry if line["src"] == "nvml"]
    told = read(recorded("base-c64-r1"), telemetry=lines)
    assert told["metrics"]["utilization_run_pct"] == pytest.approx(99, abs=1.5)
    assert told["metrics"]["energy_j"] is None, "two seconds of twenty are too many"
    assert any("taken for UTC" in note for note in told["notes"])
    elsewhere = read(recorded("base-c64-r1"), telemetry=lines, utc_offset_s=3600.0)
    assert "TELEM" in elsewhere["tags"] and elsewhere["metrics"]["utilization_run_pct"] is None


def test_a_hole_in_the_samples_withholds_them():
    source = beside("base-c64-r1").telemetry
    middle = source[len(source) // 2]["t"]
    lines = [line for line in source if line["src"] != "nvml" or not middle < line["t"] < middle + 12]
    told = read(recorded("base-c64-r1"), telemetry=lines)
    assert "TELEM" in told["tags"] and told["metrics"]["telemetry_coverage"] < 0.95
    assert told["metrics"]["power_run_w"] is None and told["metrics"]["power_naive_w"] is not None


def test_late_compilation_is_no_warm_run():
    told = examine.examine(json_result.read(recorded("warm1"), "r"), beside("warm1"))
    assert told["metrics"]["late_compile_lines"] == 1 and "UNWARMED" in told["tags"]


def test_nvidia_smi_csv_reads_as_the_lines_do(tmp_path):
    lines = [line for line in beside("base-c64-r1").telemetry if line["src"] == "nvml"]
    rows = ["timestamp, index, utilization.gpu [%], power.draw [W]"]
    for line in lines:
        time = datetime.fromtimestamp(line["t"] + 7200, UTC).strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]
        rows.append(f"{time}, 0, {line['util']:.0f} %, {line['power_w']:.2f} W")
    path = tmp_path / "smi.csv"
    path.write_text("\n".join([*rows, "half a li"]), encoding="utf-8")
    from_csv = load.telemetry(path, 7200.0)
    assert [round(line["t"], 3) for line in from_csv] == pytest.approx([line["t"] for line in lines], abs=2e-3)
    one, two = (read(recorded("base-c64-r1"), telemetry=told)["metrics"] for told in (lines, from_csv))
    assert one["power_run_w"] == pytest.approx(two["power_run_w"], rel=1e-3)


def test_percentiles_are_withheld_below_their_floors():
    for prompts, p90, p99 in ((63, False, False), (64, True, False), (662, True, True)):
        _, result = simulated(concurrency=1, num_prompts=prompts, lin=8, lout=4, ranks=1)
        for value in (result, without_lists(result) | {"p90_ttft_ms": 20.0}):
            told = read(value)["metrics"]
            assert (told["ttft_p90_ms"] is not None, told["ttft_p99_ms"] is not None) == (p90, p99)


def test_every_key_is_always_there():
    _, result = simulated(**STEADY)
    values = [result, old(result), without_lists(result), sglang(result), {"duration": 1, "completed": 0},
              {"duration": None, "completed": None}, {"duration": 0, "completed": 5}]  # fmt: skip
    texts = [read_text(printed(result)), read_text(printed(result, failed=False))]
    for told in [*(read(value) for value in values), *texts]:
        assert tuple(told["metrics"]) == figures.METRICS
        assert {"verdict", "reason", "claim", "next", "void", "tags", "findings", "warnings", "not_checked", "notes",
                "file", "form"} <= told.keys()  # fmt: skip
        assert set(told["tags"]) <= set(tags.ORDER) and told["verdict"] in ("REFUSED", "CONFOUNDED", "UNREPLICATED")
        assert all(one["what"] and one["why"] for one in told["not_checked"])


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(2, 40), st.floats(0, 0.8), st.randoms(use_true_random=False))
def test_the_order_of_requests_and_the_clocks_zero_change_nothing(concurrency, waves, lout, spread, shuffler):
    _, result = simulated(concurrency=concurrency, num_prompts=concurrency * waves, lin=8, lout=lout,
                          lout_spread=spread, ranks=1)  # fmt: skip
    order = list(range(concurrency * waves))
    shuffler.shuffle(order)
    mixed, later = copy.deepcopy(result), copy.deepcopy(result)
    for name in ("input_lens", "output_lens", "ttfts", "itls", "start_times", "latencies", "errors"):
        mixed[name] = [result[name][index] for index in order]
    later["start_times"] = [start + 512.0 for start in result["start_times"]]
    one, two, three = read(result), read(mixed), read(later)
    assert one["tags"] == two["tags"] == three["tags"]
    for key, value in one["metrics"].items():
        expected = pytest.approx(value, rel=1e-6, abs=1e-6) if isinstance(value, float) else value
        assert two["metrics"][key] == expected, key
        if key not in ("window_tok_s", "peak_tok_s"):  # tokens on the very edge of a second or of the window
            assert three["metrics"][key] == expected, key


@settings(max_examples=10, deadline=None)
@given(st.floats(0.1, 10), st.integers(1, 5), st.integers(2, 5))
def test_a_server_k_times_slower_reads_k_times_slower(k, concurrency, waves):
    shape = {"concurrency": concurrency, "num_prompts": concurrency * waves, "lin": 8, "lout": 24, "ranks": 1}
    one = read(simulated(t_fixed_ms=20.0, c_ms=0.5, p_ms=0.1, **shape)[1])["metrics"]
    two = read(simulated(t_fixed_ms=20.0 * k, c_ms=0.5 * k, p_ms=0.1 * k, **shape)[1])["metrics"]
    for key in ("ttft_mean_ms", "tpot_mean_ms", "itl_median_ms", "e2el_mean_s", "duration_s", "window_s"):
        assert two[key] == pytest.approx(k * one[key], rel=1e-6)
    assert two["output_tok_s"] == pytest.approx(one["output_tok_s"] / k, rel=1e-6)
    for key in ("little_delta", "waves", "in_flight_mean", "tokens_per_chunk"):
        assert two[key] == pytest.approx(one[key], rel=1e-6, abs=1e-9)




def test_a_derived_latency_does_not_refuse_a_run_that_its_requests_clear():
    """Lengths that vary part mean TPOT from the mean time per token; Little's sign must not turn on that."""
    derived = 0
    for seed in range(6):
        _, result = simulated(**(STEADY | {"lout_spread": 0.9, "p_ms": 2.0, "seed": seed}))
        whole = read(result)["metrics"]
        part = read({key: value for key, value in without_lists(result).items() if "e2el" not in key})["metrics"]
        if part["e2el_mean_s"] is not None:
            assert part["e2el_mean_s"] == pytest.approx(whole["e2el_mean_s"], rel=1e-9)
            assert part["little"] == whole["little"]
            derived += 1
    assert derived


def test_what_our_own_client_notes_is_believed():
    _, result = simulated(**STEADY)
    count, notes = len(result["ttfts"]), noted(result)["benchbook"]
    told = read(noted(result))
    assert told["tags"] == [] and "who counted the output tokens" not in [one["what"] for one in told["not_checked"]]
    assert read(result | {"benchbook": notes | {"usage_tokens": [None] * count}})["tags"] == ["RETOKENIZED"]
    wrong = read(result | {"benchbook": notes | {"stream_errors": ["boom"] + [None] * (count - 1)}})
    assert wrong["verdict"] == "REFUSED" and "error in the stream: boom" in wrong["reason"]
    assert "MISMATCH" in read(result | {"benchbook": notes | {"chunks": 3}})["tags"]


def test_a_short_printed_run_is_not_refused_for_its_rounding():
    for step_ms in (0.8, 0.9, 1.0, 1.1, 1.2):
        _, result = simulated(concurrency=2, num_prompts=8, lin=8, lout=8, ranks=1, t_fixed_ms=step_ms, c_ms=0.0,
                              p_ms=0.0)  # fmt: skip
        assert result["duration"] < 0.05
        told = read_text(printed(result))
        assert told["verdict"] == "CONFOUNDED" and told["tags"] == ["UNSTEADY"], told["findings"]
