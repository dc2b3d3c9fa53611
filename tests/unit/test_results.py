"""A result read column by column says what measure/bench_result.py reads request by request, whatever its form."""

from __future__ import annotations

import copy
import gzip
import json
import math
from pathlib import Path

import benchforms
import numpy as np
import pytest
from benchbook import rawdata
from benchbook.derive import ragged, results
from benchbook.errors import StoreError
from benchbook.measure import bench_result
from hypothesis import given, settings
from hypothesis import strategies as st
from test_native_results import native

RECORDED = Path(__file__).parents[1] / "recorded" / "h200-qwen3moe-c64.bench.json.gz"
TEXTS = ("error", "tokens_from", "failure_kind")
NUMBERS = ("start_s", "ttft_s", "e2el_s", "prompt_tokens", "output_tokens", "queue_s", "failure_s", "asked_tokens",
           "answer_ttft_s", "send_s", "connect_s", "cached_tokens", "tpot_s")  # fmt: skip


def same(result):
    """Both readings of `result` agree to the last digit."""
    told, listed = results.read(result), bench_result.requests(result)
    assert told.ok.tolist() == [one.ok for one in listed]
    for name in TEXTS:
        assert getattr(told, name) == [getattr(one, name) for one in listed], name
    for name in NUMBERS:
        found = [None if math.isnan(value) else value for value in getattr(told, name).tolist()]
        assert found == [getattr(one, name) for one in listed], name
    assert [part.tolist() for part in ragged.rows(told.itl_s, told.itls)] == [list(one.itl_s) for one in listed]
    noted = results.chunks(result)
    chunked = [(index, one) for index, one in enumerate(listed) if one.chunk_s and one.chunk_kinds]
    assert noted.request.tolist() == [index for index, _ in chunked]
    assert noted.chunks.tolist() == [len(one.chunk_s) for _, one in chunked]
    assert noted.t_s.tolist() == [time for _, one in chunked for time in one.chunk_s]
    assert noted.kinds == "".join(one.chunk_kinds for _, one in chunked)
    return told


@pytest.mark.parametrize("name", ["A_partial", "C_stall", "D_crash", "E_spec", "G_client"])
def test_oracles(name):
    _, result = benchforms.simulated(name)
    same(result)
    same(benchforms.noted(result))
    same(result | {"request_rate": 10.0, "queue_times": [0.5 * n for n in range(len(result["ttfts"]))]})
    same({key: value for key, value in result.items() if key != "latencies"})
    same(result | {"latencies": []})


def test_the_recording():
    result = json.loads(gzip.decompress(RECORDED.read_bytes()))
    assert same(result).ok.all()


def test_no_request_at_all():
    empty = {key: [] for key in ("ttfts", "itls", "start_times", "input_lens", "output_lens", "errors")}
    assert len(same(empty)) == 0 and len(same(empty | {"benchbook": {"usage_tokens": []}})) == 0


def test_lists_that_do_not_fit_are_refused_by_both():
    result = native() | {"input_lens": [8]}
    for reading in (results.read, bench_result.requests):
        with pytest.raises(ValueError):
            reading(result)


def test_who_counted():
    assert results.read(native()).counted_by == "usage"
    assert results.read(native(usage_tokens=[4, None])).counted_by == "retokenized"
    assert results.read(native(failed={1: "reset"}, usage_tokens=[4, None])).counted_by == "usage"
    assert results.read({**native(), "benchbook": None}).counted_by is None


def one_of(*values):
    return st.sampled_from(values)


@st.composite
def vllm_results(draw):
    """Results of vLLM's client, with what our notes may add to them, all of it as odd as it has been seen."""
    count = draw(st.integers(1, 6))

    def each(strategy):
        return draw(st.lists(strategy, min_size=count, max_size=count))

    itls = each(st.lists(st.floats(0, 2), max_size=5))
    result = {
        "duration": 3.0, "ttfts": each(st.floats(0, 5)), "itls": itls, "input_lens": each(one_of(8, 9, None)),
        "output_lens": each(one_of(0, 1, 2, 3, 6)), "start_times": each(one_of(0, 0.0, 1.5, 7.25)),
        "errors": each(one_of("", "", "", " ", "Traceback:\nOSError: no\n")),
        "request_rate": draw(one_of("inf", 4.0, None)),
    }  # fmt: skip
    if draw(st.booleans()):
        result["latencies"] = each(one_of(0.0, 1.5, 4.0, None))
    if draw(st.booleans()):
        result["queue_times"] = each(one_of(0.0, 0.25))
    if draw(st.booleans()):
        result["benchbook"] = {
            "stream_errors": each(one_of(None, None, None, "", "boom\nat last")),
            "usage_tokens": each(one_of(None, 0, 1, 2, 3, 6)), "finished": each(one_of(True, True, False, None)),
            "chunks": [len(gaps) + draw(one_of(0, 1, 1, 1)) for gaps in itls],
            "empty_chunks": [draw(st.lists(st.integers(0, len(gaps)), unique=True) | st.none()) for gaps in itls],
        }  # fmt: skip
        for name in draw(st.sets(st.sampled_from(sorted(result["benchbook"])), max_size=2)):
            del result["benchbook"][name]
    return result


@settings(max_examples=60, deadline=None)
@given(vllm_results())
def test_whatever_vllms_client_writes(result):
    before = copy.deepcopy(result)
    same(result)
    assert result == before


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_the_native_client_writes(data):
    lengths = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=5)))
    failed = {index: "reset" for index in range(len(lengths)) if data.draw(one_of(False, False, True))}

    def each(*values):
        return data.draw(st.lists(one_of(*values), min_size=len(lengths), max_size=len(lengths)))

    noted = {}
    if data.draw(st.booleans()):
        noted["usage_tokens"] = each(None, 2, 4)
    if data.draw(st.booleans()):
        noted["chunk_times"] = each(None, [0.05, 0.07], [])
    if data.draw(st.booleans()):
        noted["chunk_kinds"] = each(None, "", "t", "ttr", "tttt")
    if data.draw(st.booleans()):
        noted |= {"answer_ttfts": each(None, 0.5), "cached_tokens": each(None, 0, 7), "asked_tokens": each(None, 4)}
    result = native(lengths, failed=failed, **noted)
    result["start_times"] = each(0.0, 1.0, 2.0)
    same(result)


# --- the file itself


def session(folder, text):
    path = folder / "s" / "runs" / "a" / "bench.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return rawdata.RawSession(folder / "s", "complete").result({"run": "a", "repeat": 1})


@pytest.mark.parametrize("text", [
    '{"a": NaN, "b": [Infinity, -Infinity]}', '{"a": 1e999, "b": 0.1, "c": -0.0}', '{"a": "\\ud800"}',
    '{"a": 1, "a": 2, "b": [[], {}, "\\u00e9", true, null]}', '{"a": 18446744073709551615, "b": 5e-324}',
    json.dumps({"a": [[[1.7976931348623157e308]]], "b": "\u2028"}),
])  # fmt: skip
def test_files_mean_what_the_standard_library_reads(tmp_path, text):
    assert repr(session(tmp_path, text)) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", '{"a": 1}}', b"\xff{}", b"\xef\xbb\xbf{}"])
def test_what_is_no_json_is_refused_in_one_sentence(tmp_path, text):
    with pytest.raises(StoreError, match=r"bench\.json cannot be read .* Restore it from a copy, or measure again\."):
        session(tmp_path, text)


def test_rows_of_different_lengths():
    values, counts = ragged.flat([np.array([3.0, 1.0]), [], [2.0]])
    assert values.tolist() == [3.0, 1.0, 2.0] and counts.tolist() == [2, 0, 1]
    assert ragged.running_sums(values, counts).tolist() == [3.0, 4.0, 2.0]
    assert ragged.largest(values, counts).tolist() == [3.0, 0.0, 2.0]
    assert ragged.places(counts).tolist() == [0, 1, 0]
    assert [row.tolist() for row in ragged.rows(values, counts)] == [[3.0, 1.0], [], [2.0]]
