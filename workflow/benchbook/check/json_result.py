"""Results as JSON: `vllm bench serve --save-result` of any version, SGLang bench_serving's lines.

vLLM names as in vllm/benchmarks/serve.py, SGLang's as in sglang/bench_serving.py, which began as a copy of it. Older
versions lack latencies, start times, errors, failed or max_concurrency; without --save-detailed (vLLM) and
--output-details (SGLang) there are no lists at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.check.result import SGLANG, STATED, VLLM, Result, number

# name here: names in use for it
_NAMES: dict[str, tuple[str, ...]] = {
    "completed": ("completed",),
    "failed": ("failed",),
    "num_prompts": ("num_prompts",),
    "max_concurrency": ("max_concurrency",),
    "request_rate_req_s": ("request_rate",),
    "duration_s": ("duration",),
    "prompt_tokens": ("total_input_tokens", "total_input"),
    "output_tokens": ("total_output_tokens", "total_output"),
    "request_throughput_req_s": ("request_throughput",),
    "output_tok_s": ("output_throughput",),
    "peak_tok_s": ("max_output_tokens_per_s",),
    "e2el_mean_ms": ("mean_e2el_ms", "mean_e2e_latency_ms"),
    "e2el_p50_ms": ("median_e2el_ms", "median_e2e_latency_ms"),
    "in_flight_mean": ("concurrency",),
    "tokens_per_step": ("spec_decode_acceptance_length", "accept_length"),
    **{f"{metric}_mean_ms": (f"mean_{metric}_ms",) for metric in ("ttft", "tpot", "itl")},
    **{f"{metric}_p50_ms": (f"median_{metric}_ms", f"p50_{metric}_ms") for metric in ("ttft", "tpot", "itl")},
    "ttft_p90_ms": ("p90_ttft_ms",),
    "ttft_p99_ms": ("p99_ttft_ms",),
}
_SGLANG_ONLY = ("mean_e2e_latency_ms", "total_output_tokens_retokenized", "accept_length", "sharegpt_output_len")
_NOTED: dict[str, Any] = {"stream_errors": str | None, "usage_tokens": int | None, "finished": bool | None,
                          "chunks": int | None, "empty_chunks": list | None}  # fmt: skip
# of the native client alone (measure/client/result.py)
_NOTED_MORE: dict[str, Any] = {
    "asked_tokens": int | None, "failure_kinds": str | None, "failure_s": float | int | None,
    "answer_ttfts": float | int | None, "send_times": float | int | None, "connect_times": float | int | None,
    "cached_tokens": int | None, "chunk_kinds": str | None, "chunk_times": list | None,
}  # fmt: skip
_CLIENT = {"cpu_s", "busiest_cpu_s", "span_s", "loop_lag_mean_ms", "loop_lag_p99_ms", "loop_lag_max_ms", "processes",
           "receive_wait_mean_ms", "receive_queue_max_bytes"}  # fmt: skip
_LISTS = ("ttfts", "itls", "output_lens")
_LONGEST_MS = 1e10  # 115 days: no latency is longer, and sums of shorter ones stay finite
_MOST_TOKENS = 2**21  # of one request: twice the longest context that any model has


def is_result(value: Any) -> bool:
    """Whether a JSON value is a benchmark's result: an object that says how long it took and how many ended well."""
    return isinstance(value, Mapping) and "duration" in value and "completed" in value


def read(value: Mapping[str, Any], name: str) -> Result:
    """`value`: an object for which `is_result` holds."""
    stated = {key: None for key in STATED} | {
        key: next((found for alias in aliases if (found := number(value.get(alias))) is not None), None)
        for key, aliases in _NAMES.items()
    }
    for key, found in stated.items():
        if found is not None and found < 0:
            stated[key] = None
    if stated["max_concurrency"] is not None and stated["max_concurrency"] < 1:
        stated["max_concurrency"] = None
    sglang = any(key in value for key in _SGLANG_ONLY)
    lists, broken = None, None
    if all(isinstance(value.get(key), list) for key in _LISTS) and value["ttfts"]:
        try:
            lists = _lists(value, stated["request_rate_req_s"])
        except _Broken as error:
            broken = str(error)
    if stated["num_prompts"] is None and lists is not None:
        stated["num_prompts"] = float(len(lists["ttfts"]))
    if stated["failed"] is None and None not in (stated["num_prompts"], stated["completed"]):
        stated["failed"] = max(0.0, stated["num_prompts"] - stated["completed"])  # type: ignore[operator]
    date = value.get("date")
    return Result(
        name=name, form=SGLANG if sglang else VLLM, stated=stated, lists=lists, broken=broken,
        longest_itl_ms=_longest_itl_ms(value), ended=date if isinstance(date, str) else None,
        client=_client(value.get("benchbook_client")),
        gaps_spread=sglang and value.get("backend") in ("sglang", "sglang-native"),
    )  # fmt: skip


def _longest_itl_ms(value: Mapping[str, Any]) -> float | None:
    told = [number(told) for key, told in value.items()
            if isinstance(key, str) and key.endswith("_itl_ms") and not key.startswith("std_")]  # fmt: skip
    return max((one for one in told if one is not None), default=None)


class _Broken(Exception):
    """The lists cannot be of one run; the message says why."""


def _lists(value: Mapping[str, Any], rate: float | None) -> dict[str, Any]:
    count = len(value["ttfts"])
    found: dict[str, Any] = {}
    for key in ("ttfts", "itls", "output_lens", "input_lens", "errors", "latencies", "start_times", "queue_times"):
        listed = value.get(key)
        if not isinstance(listed, list) or not listed:
            found[key] = None
        elif len(listed) != count:
            raise _Broken(f"{key} has {len(listed)} entries where ttfts has {count}")
        else:
            found[key] = listed
    for key in _LISTS:
        if found[key] is None:
            raise _Broken(f"{key} is empty where ttfts has {count} entries")
    errors = found["errors"] or [""] * count
    lengths = [_amount(length, "output_lens", index) for index, length in enumerate(found["output_lens"])]
    good = [not error and length > 0 for error, length in zip(errors, lengths, strict=True)]
    return {
        "ttfts": [_seconds(item, "ttfts", index) if good[index] else 0.0 for index, item in enumerate(found["ttfts"])],
        "itls": [_gaps(item, index) if good[index] else [] for index, item in enumerate(found["itls"])],
        "output_lens": lengths,
        "input_lens": [_amount(item, "input_lens", index) for index, item in enumerate(found["input_lens"])]
        if found["input_lens"] else [None] * count,
        "errors": ["" if not error else str(error) for error in errors],
        "latencies": [_seconds(item, "latencies", index) if good[index] else 0.0
                      for index, item in enumerate(found["latencies"])] if found["latencies"] else None,
        "start_times": _starts(found["start_times"], good),
        "queue_times": [_seconds(item, "queue_times", index) for index, item in enumerate(found["queue_times"])]
        if found["queue_times"] and rate is not None else None,
        "request_rate": rate,
        **_notes(value, count),
    }  # fmt: skip


def _notes(value: Mapping[str, Any], count: int) -> dict[str, Any]:
    """What our load clients add (engines/inside/client_truth.py, measure/client/result.py); nothing in results of
    anyone else's."""
    noted = value.get("benchbook")
    if not isinstance(noted, Mapping):
        return {}
    expected = _NOTED | (_NOTED_MORE if "failure_kinds" in noted else {})
    for key, kind in expected.items():
        listed = noted.get(key)
        if not isinstance(listed, list) or len(listed) != count or not all(isinstance(one, kind) for one in listed):
            raise _Broken(f"benchbook.{key} is not one note a request")
    for key in {"usage_tokens", "asked_tokens", "cached_tokens"} & expected.keys():
        if any(not 0 <= (tokens or 0) < _MOST_TOKENS for tokens in noted[key]):
            raise _Broken(f"benchbook.{key} holds what is no number of tokens")
    for key in {"failure_s", "answer_ttfts", "send_times", "connect_times"} & expected.keys():
        for index, seconds in enumerate(noted[key]):
            _seconds(seconds or 0.0, f"benchbook.{key}", index)
    if "failure_kinds" in noted:
        _chunks(noted)
    if not all(isinstance(index, int) for listed in noted["empty_chunks"] for index in listed or ()):
        raise _Broken("benchbook.empty_chunks holds what is no place")
    return {"benchbook": {key: noted[key] for key in expected}}


def _chunks(noted: Mapping[str, Any]) -> None:
    """The notes on single chunks fit each other."""
    for index, (kinds, times) in enumerate(zip(noted["chunk_kinds"], noted["chunk_times"], strict=True)):
        if not set(kinds or "") <= set("trce"):
            raise _Broken(f"benchbook.chunk_kinds[{index}] has letters other than t, r, c and e")
        if times is None:
            continue
        if len(times) != len(kinds or ""):
            raise _Broken(f"benchbook.chunk_times[{index}] is not one time a chunk")
        for place, seconds in enumerate(times):
            _seconds(seconds, f"benchbook.chunk_times[{index}]", place)


def _client(told: Any) -> dict[str, Any] | None:
    """What Benchbook's own client noted of itself, as numbers; None for another's result."""
    if not isinstance(told, Mapping):
        return None
    loop = told.get("loop")
    processes = number(told.get("processes"))
    return {name: number(told.get(name)) for name in _CLIENT} | {
        "loop": loop if isinstance(loop, str) else None, "processes": None if processes is None else int(processes),
    }  # fmt: skip


def _starts(listed: list[Any] | None, good: list[bool]) -> list[float | None]:
    """Send times from 1 s on: a zero is a time for a request that ended well, and none for one that failed."""
    if listed is None:
        return [None] * len(good)
    times = [_seconds(item, "start_times", index) for index, item in enumerate(listed)]
    sent = [time if ok or time else None for time, ok in zip(times, good, strict=True)]
    first = min((time for time in sent if time is not None), default=0.0)
    return [None if time is None else time - first + 1.0 for time in sent]


def _gaps(listed: Any, index: int) -> list[float]:
    if not isinstance(listed, list):
        raise _Broken(f"itls[{index}] is no list")
    return [_seconds(gap, f"itls[{index}]", place) for place, gap in enumerate(listed)]


def _seconds(value: Any, key: str, index: int) -> float:
    found = number(value)
    if found is None or not 0 <= found < _LONGEST_MS / 1000:
        raise _Broken(f"{key}[{index}] is {str(value)[:20]!r}, no time in seconds")
    return found


def _amount(value: Any, key: str, index: int) -> int:
    found = number(value)
    if found is None or not 0 <= found < _MOST_TOKENS or found != int(found):
        raise _Broken(f"{key}[{index}] is {str(value)[:20]!r}, no number of tokens")
    return int(found)
