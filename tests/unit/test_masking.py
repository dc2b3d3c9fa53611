"""What is covered before anything is published: all of it, nothing else, and once is enough."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest
from benchbook import masking
from hypothesis import given
from hypothesis import strategies as st

TESTS = Path(__file__).parents[1]
ALICE = masking.Identity("alice", "alice-ws.example.org", "/data/people/alice", frozenset({"correct horse battery"}))

SECRET = "s3cr3t-Value-91"
HIDDEN = [
    (f"HF_TOKEN={SECRET}", SECRET),
    ('{"env": {"HF_TOKEN": "abc-def-ghi"}}', "abc-def-ghi"),
    (f"non-default args: {{'api_key': ['{SECRET}'], 'max_num_batched_tokens': 8192}}", SECRET),
    (f"vllm serve m --api-key {SECRET} --port 8000", SECRET),
    (f'["--api-key", "{SECRET}", "--port"]', SECRET),
    (f"Authorization: Bearer {SECRET}", SECRET),
    (f"password: {SECRET}", SECRET),
    ("loading with hf_abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"),
    ("sk-abcdefghijklmnop1234", "abcdefghijklmnop1234"),
    ("AIza" + "SyA-abcdefghijklmnopqrstuvwxyz01234", "SyA-abcdefghijklmnopqrstuvwxyz01234"),
    (f"PGPASSWORD={SECRET} psql", SECRET),
    ("https://abcdefgh1234567@example.org/x", "abcdefgh1234567"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEow and cut off", "MIIEow"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("token_hf_abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"),
    (r'{"log": "line\nsk-abcdefghijklmnop1234"}', "abcdefghijklmnop1234"),
    ("\x1b[36mhf_abcdefghijklmnopqrstuvwxyz\x1b[0m", "abcdefghijklmnopqrstuvwxyz"),
    (f"Authorization: Basic {SECRET}", SECRET),
    (f"Authorization: Token {SECRET}", SECRET),
    (f'{{"authorization": "{SECRET}"}}', SECRET),
    ('password="two words of it"', "two words of it"),
    (r'{"log": "password=\"two words of it\""}', "two words of it"),
    (r'{"log": "cannot open\n/home/carol/x"}', "carol"),
    ("\x1b[1;36m/home/carol/x", "carol"),
    ("/nfs/home/carol/x and /mnt/data/home/carol", "carol"),
    ("https://bob:hunter2@proxy.example.org/simple", "bob:hunter2"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN", "eyJzdWIiOiIxMjM0In0"),
    ("model='/home/carol/models/x'", "carol"),
    ("/Users/carol/x", "carol"),
    (r"C:\\Users\\carol\\x", "carol"),
    (f"'api_key': ['first-Key-0001', '{SECRET}']", SECRET),
    (f'["--api-key", "first-Key-0001", "{SECRET}", "--port", "8000"]', SECRET),
    (f"vllm serve m --api-key first-Key-0001 {SECRET} --port 8000", SECRET),
    (f"Cookie: first=value0001; session={SECRET}", SECRET),
    (f"('Authorization', 'Basic {SECRET}')", SECRET),
    (f"https://s3.example.org/x?X-Amz-Signature={SECRET}&x=1", SECRET),
    (f"SECRET_KEY={SECRET}", SECRET),
    (f"AZURE_STORAGE_KEY={SECRET}", SECRET),
    (f"MYSQL_PWD={SECRET}", SECRET),
    ("password=91827364", "91827364"),
    ('{"password": "91827364"}', "91827364"),
    ("%2Fhome%2Fcarol%2Fx", "carol"),
    (r'{"file": "\/home\/carol\/x"}', "carol"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
]
LEFT = [
    "max_num_batched_tokens=8192, tokenizer='/root/models/x', bos_token='<s>abcdef', eos_token_id=1",
    "Time per output token: 8.25ms, prompt_tokens: 64, total_token=1234567, token_ids=[1, 2, 3]",
    "INFO 12-01 06:07:20 [api_utils.py:286] Avg generation throughput: 12.0 tokens/s, KV cache usage: 0.4%",
    "http://127.0.0.1:8000/v1/completions 200",
    "api_key=None, hf_token=False",
    "2026-09-11T23:05:48+00:00 sha256 3f786850e387550fdab836ed7e6dc881de23001b",
    "root@vm: localhost",
    "PWD=/opt/models max_model_len=8192 --max-model-len 2048",
]


@pytest.mark.parametrize(("text", "hidden"), HIDDEN, ids=[text[:30] for text, _ in HIDDEN])
def test_secrets_and_names_are_covered(text, hidden):
    covered = masking.cover_text(text)
    assert hidden not in covered and len(covered) == len(text) and "x" * min(4, len(hidden)) in covered


@pytest.mark.parametrize("text", LEFT, ids=[text[:30] for text in LEFT])
def test_all_else_is_left(text):
    assert masking.cover_text(text, masking.Identity("root", "vm", "/root")) == text


@pytest.mark.parametrize("before", [r"\n", r"\t", r"\u001b[36m", "\x1b[0m", "\x1b[1;31m", " ", ""])
def test_a_name_after_an_escape_is_a_word_too(before):
    for name in ("alice", "alice-ws", "/data/people/alice"):
        assert "alice" not in masking.cover_text(f'"{before}{name}: "', ALICE)
    assert masking.cover_text(f"{before}malice", ALICE) == f"{before}malice"


def test_who_measured_is_covered_as_words():
    text = "alice on alice-ws (alice-ws.example.org) in /data/people/alice/m, malice, alice2: correct horse battery"
    covered = masking.cover_text(text, ALICE)
    assert covered == (
        "xxxxx on xxxxxxxx (xxxxxxxxxxxxxxxxxxxx) in /data/people/xxxxx/m, malice, alice2: xxxxxxxxxxxxxxxxxxxxx"
    )
    assert masking.cover(text.encode(), ALICE)[1] == {"home path": 1, "host name": 2, "user name": 1, "secret": 1}


def test_names_inside_other_words_and_in_capitals_are_covered():
    assert masking.cover_text("alice_run /x/run_alice ALICE-WS", ALICE) == "xxxxx_run /x/run_xxxxx xxxxxxxx"


def test_a_user_named_as_a_flags_word_cannot_be_told_from_it():
    text = "--max-model-len 2048 max_num_seqs=16"
    assert masking.cover_text(text, masking.Identity("max", "", "/home/max")) == text
    assert masking.cover_text("/home/max/x", masking.Identity("max", "", "/home/max")) == "/home/xxx/x"


@pytest.mark.parametrize("piece", ["-", "eyJ", "--token", "token: ", "a=", "token" + 40 * " ", "://x:", '"a", '])
def test_the_time_grows_with_the_length_and_not_with_its_square(piece):
    def took(size):
        data = (piece * (size // len(piece))).encode()
        start = time.perf_counter()
        masking.cover(data, ALICE)
        return time.perf_counter() - start

    short, long = (min(took(size) for _ in range(3)) for size in (3_000, 120_000))
    assert long < 400 * short, "40 times as much takes 40 times as long, not 1,600"


def test_what_a_session_wrote_down_of_itself_covers_itself():
    told = {"user": "alice", "host": "alice-ws", "home": "/home/alice"}
    who = masking.of({"identity": told}, {})
    covered = json.loads(masking.cover_text(json.dumps(told), who))
    assert covered == {"user": "xxxxx", "host": "xxxxxxxx", "home": "/home/xxxxx"}
    again = masking.of({"identity": covered}, {})
    assert masking.cover_text("xxxxx at xxxxxxxx", again) == "xxxxx at xxxxxxxx"


def test_a_host_named_as_the_node_or_an_arm_is_left_alone():
    """Covered, it would take the arm's name out of the tables."""
    told = {"identity": {"user": "eager", "host": "h200.example.org", "home": "/home/eager"}}
    spec = {"booking": "b", "arm": "eager", "node": {"name": "h200", "kind": "h200"}, "engine": None}
    assert masking.cover_text('{"arm": "eager", "node": "h200"}', masking.of(told, spec)) == (
        '{"arm": "eager", "node": "h200"}')  # fmt: skip
    assert masking.cover_text('{"arm": "eager", "node": "h200"}', masking.of(told, {})) != (
        '{"arm": "eager", "node": "h200"}')  # fmt: skip


def test_the_environments_secrets_are_known_by_their_names():
    named = {"HF_TOKEN": "abcdefgh1", "PATH": "/usr/bin:/bin", "AWS_SECRET_ACCESS_KEY": "ijklmnop2",
             "TOKENS": "12345678", "SSH_KEY_PATH": "whatever12"}  # fmt: skip
    assert masking.this_machine(named).secrets == {"abcdefgh1", "ijklmnop2"}


_PIECES = st.lists(st.sampled_from([*(text for text, _ in HIDDEN), *LEFT, "alice", "\n", "\r\n", '"', "é", " "])).map(
    " ".join)  # fmt: skip


@given(_PIECES | st.text())
def test_covering_twice_is_covering_once_and_keeps_every_length_and_line(text):
    data = text.encode("utf-8", "surrogatepass")
    covered, _ = masking.cover(data, ALICE)
    assert len(covered) == len(data)
    assert [at for at, byte in enumerate(covered) if byte in b"\r\n"] == [at for at, byte in enumerate(data)
                                                                        if byte in b"\r\n"]  # fmt: skip
    assert masking.cover(covered, ALICE) == (covered, {})


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.sampled_from(
    [text for text, _ in HIDDEN])  # fmt: skip
_NAMES = st.text() | st.sampled_from(["api_key", "HF_TOKEN", "password", "token", "tokens"])


@given(st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(_NAMES, inner), max_leaves=12))
def test_json_stays_json_and_its_numbers_stay(value):
    covered = json.loads(masking.cover(json.dumps(value).encode(), ALICE)[0])

    def numbers(item):
        if isinstance(item, dict):
            return [found for inner in item.values() for found in numbers(inner)]
        if isinstance(item, list):
            return [found for inner in item for found in numbers(inner)]
        return [item] if isinstance(item, int | float) else []

    assert numbers(covered) == numbers(value)


@pytest.mark.parametrize("path", sorted((TESTS / "logs").glob("*.log")) + sorted((TESTS / "recorded").glob("*.log.gz")),
                         ids=lambda path: path.name)  # fmt: skip
def test_a_real_servers_log_is_left_but_for_paths(path):
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    _, found = masking.cover(data)
    assert set(found) <= {"home path"}
