"""API servers: step counts, tokenizing, patches, and how long they wait for the engine
(docs/engines.md 4.13 to 4.16)."""

from __future__ import annotations

from collections.abc import Iterator

from benchbook.engines.vllm_layout import layout
from benchbook.preflight import flags
from benchbook.preflight.asked import VLLM, Asked, ServerAsked
from benchbook.preflight.cores import api_servers
from benchbook.preflight.finding import WARNING, Finding

# Source 002: one API server let through 4.5 requests a second of 60 to 90 thousand tokens.
PROMPT_TOKENS_PER_S = 4.5 * 75_000
FILL_S_MAX = 10.0
LONG_PROMPT = 8192
READY_DEFAULT_S = 600.0


def findings(arm: ServerAsked, asked: Asked) -> Iterator[Finding]:
    if arm.kind != VLLM:
        return
    servers, laid = api_servers(arm), layout(arm.args)
    if servers > 1 or laid.ranks > 1:
        yield _steps(arm, servers, laid.ranks)
    if (narrow := _narrow(arm, asked, servers)) is not None:
        yield narrow
    if servers > 1 and arm.command is not None and any(word.endswith(".py") for word in arm.command):
        yield _wrapped(arm, servers)
    if (impatient := _impatient(arm, asked, servers)) is not None:
        yield impatient
    if asked.cold_boot and str(arm.env.get("VLLM_ENABLE_STARTUP_PLAN", "0")).lower() not in ("0", "false", ""):
        yield Finding("startup-plan", WARNING, arm.name, f"{arm.place}.env.VLLM_ENABLE_STARTUP_PLAN",
                      "A boot takes the KV cache's size from an earlier one and skips profiling, and the booking "
                      "asks for cold boots.", "",
                      "Leave VLLM_ENABLE_STARTUP_PLAN out, or set schedule.cold_boot: false.")  # fmt: skip


def _steps(arm: ServerAsked, servers: int, ranks: int) -> Finding:
    return Finding(
        "api-servers-steps", WARNING, arm.name, arm.key("api-server-count"),
        f"{servers} API servers, {ranks} data-parallel {'rank' if ranks == 1 else 'ranks'}: each server counts "
        "the steps it sees, so that /metrics counts them several times. Engine steps and tokens a step are "
        "withheld.",
        "measured with 1, 2 and 4 servers: 1,504, 3,003 and 6,001 steps for the same work",
        "Set api-server-count: 1 where steps matter; take throughput from the client.",
    )  # fmt: skip


def _narrow(arm: ServerAsked, asked: Asked, servers: int) -> Finding | None:
    prompt = asked.longest_prompt
    if prompt is None or prompt < LONG_PROMPT or servers < 1:
        return None
    fill_s = asked.concurrency_max * prompt / (PROMPT_TOKENS_PER_S * servers)
    if fill_s <= FILL_S_MAX:
        return None
    wanted = int(-(-fill_s * servers // FILL_S_MAX))
    return Finding(
        "front-end-narrow", WARNING, arm.name, arm.key("api-server-count"),
        f"Prompts of up to {prompt:,} tokens through {servers} API server{'s' * (servers > 1)}; one let through "
        "4.5 requests of some 75,000 tokens a second (source 002), and waiting stayed 0 while requests were "
        "stuck before the engine.",
        f"{asked.concurrency_max:,} x {prompt:,} / ({PROMPT_TOKENS_PER_S:,.0f} x {servers}) = {fill_s:.0f} s to "
        f"fill the concurrency, more than {FILL_S_MAX:g} s",
        f"Set api-server-count: {wanted}, with a core for each.",
    )  # fmt: skip


def _wrapped(arm: ServerAsked, servers: int) -> Finding:
    return Finding(
        "wrapped-server", WARNING, arm.name, f"{arm.place}.engine",
        f"{servers} API servers started through {' '.join(arm.command or ())}: servers beyond the first import "
        "that file as __mp_main__, and what it patches under __main__ only is not patched in them.", "",
        "Patch at import, or set api-server-count: 1.",
    )  # fmt: skip


def _impatient(arm: ServerAsked, asked: Asked, servers: int) -> Finding | None:
    written = flags.number(arm.env.get("VLLM_ENGINE_READY_TIMEOUT_S"))
    waits = READY_DEFAULT_S if written is None else written
    if servers < 2 or waits >= asked.ready_s:
        return None
    how = "is not written down" if written is None else "is shorter"
    return Finding(
        "ready-timeout", WARNING, arm.name, f"{arm.place}.env.VLLM_ENGINE_READY_TIMEOUT_S",
        f"VLLM_ENGINE_READY_TIMEOUT_S {how}: {servers} API servers give the engine up before the booking does.",
        f"{waits:g} s < limits.ready_s = {asked.ready_s:g} s",
        f"Set VLLM_ENGINE_READY_TIMEOUT_S: {asked.ready_s:g}.",
    )  # fmt: skip
