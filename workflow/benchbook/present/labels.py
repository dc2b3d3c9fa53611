"""Column headings. A column without one is headed by its name."""

from __future__ import annotations

LABELS = {
    "run_id": "Run", "session_id": "Session", "reading_id": "Reading", "failure_id": "Where", "slot": "Slot",
    "arm": "Arm", "concurrency": "C", "repeat": "Repeat", "status": "Status", "reason": "Reason", "tags": "Tags",
    "spec_hash": "Specification", "t_start_s": "Start", "duration_s": "Duration", "gap_before_s": "Gap before",
    "num_prompts": "Prompts", "completed": "Completed", "failed": "Failed", "waves": "Waves",
    "whole_waves": "Whole waves", "window_s": "Window", "throughput_tok_s": "Throughput",
    "window_throughput_tok_s": "Throughput in window", "in_flight_mean": "In flight", "fill": "Fill η",
    "little_delta": "δ", "little": "Little", "warmup_verdict": "Warmup", "boot_s": "Boot",
    "client_start_s": "Client", "warmup_s": "Warmup",
    "runs_s": "Runs", "teardown_s": "Teardown", "wall_s": "Wall", "run_share": "In runs", "gap_median_s": "Gap median",
    "gap_max_s": "Gap max", "runs_done": "Runs done", "sampler_cpu_share": "Telemetry sampler",
    "engine": "Engine environment", "engine_version": "Engine version", "python": "Python", "kernel": "Kernel",
    "cpu_model": "CPU", "cores": "Cores usable", "memory_gib": "Memory", "gpus": "GPUs", "driver": "GPU driver",
    "load_s": "Model load", "compile_s": "Compile", "init_s": "Engine init", "kv_cache_tokens": "KV cache",
    "failure_class": "Class", "root_cause": "Root cause", "remedy": "Remedy", "verdict": "Verdict",
    "verdict_reason": "Why", "change": "Last change", "samples": "Samples", "coverage": "Coverage",
    "cpu_util_pct": "CPU in run", "cpu_util_whole_pct": "CPU whole file", "cpu_util_max_core_pct": "Busiest core",
    "server_cpu_cores": "Server CPU", "client_cpu_cores": "Client CPU", "server_memory_gib": "Server memory",
    "client_memory_gib": "Client memory", "running_mean": "Running", "waiting_max": "Waiting max",
    "kv_cache_usage_max": "KV cache max", "preemptions": "Preemptions", "prefix_hit_rate": "Prefix hits",
    "gpu_util_pct": "GPU in run", "gpu_util_whole_pct": "GPU whole file", "gpu_power_w": "Power per GPU",
    "gpu_sm_clock_mhz": "SM clock", "gpu_memory_gib": "GPU memory", "gpu_energy_j": "Energy",
    "gpu_temperature_c": "Temperature", "sessions": "Sessions", "runs": "Runs", "runs_not_ok": "Not ok",
    "tpot_mean_ms": "TPOT", "ttft_mean_ms": "TTFT", "itl_p50_ms": "ITL median", "e2el_mean_ms": "E2EL", "what": "What",
    "expected": "Expected", "cost_s": "Cost", "phase": "Phase", "label": "Label",
}


def label(column: str) -> str:
    """The heading of `column`."""
    return LABELS.get(column, column)
