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
    "weights_gib": "Weights", "kv_memory_gib": "KV memory", "capture_s": "Graph capture",
    "capture_gib": "Graph memory", "graphs_piecewise": "PIECEWISE graphs", "graphs_full": "FULL graphs",
    "failure_class": "Class", "root_cause": "Root cause", "remedy": "Remedy", "verdict": "Verdict",
    "verdict_reason": "Why", "gate": "Gate", "gate_reason": "Why", "late_work": "Late work",
    "replaced": "Replaced", "change": "Last change", "samples": "Samples", "coverage": "Coverage",
    "cpu_util_pct": "CPU in run", "cpu_util_naive_pct": "CPU naive", "cpu_refused": "Withheld",
    "cpu_util_max_core_pct": "Busiest core",
    "server_cpu_cores": "Server CPU", "client_cpu_cores": "Client CPU", "server_memory_gib": "Server memory",
    "client_memory_gib": "Client memory", "running_mean": "Running", "waiting_max": "Waiting max",
    "kv_cache_usage_max": "KV cache max", "preemptions": "Preemptions", "prefix_hit_rate": "Prefix hits",
    "gpu_util_pct": "Util. in run", "gpu_util_naive_pct": "Util. naive", "gpu_util_se_pct": "± SE",
    "gpu_util_spread_pct": "Spread", "gpu_util_fine_pct": "Utilisation, driver’s",
    "gpu_power_w": "Power in run", "gpu_power_naive_w": "Power naive", "gpu_power_se_w": "± SE",
    "gpu_power_peak_w": "Highest", "gpu_power_energy_w": "From energy", "gpu_power_limit_w": "Limit",
    "gpu_power_share": "Of the limit", "gpu_count": "GPUs", "gpu_samples": "Samples", "gpu_coverage": "Coverage",
    "gpu_refused": "Withheld", "gpu_sm_active_pct": "SMs busy", "gpu_tensor_active_pct": "Tensor cores",
    "gpu_dram_active_pct": "DRAM", "gpu_sm_clock_mhz": "SM clock", "gpu_sm_clock_share": "Of its maximum",
    "gpu_throttled_share": "Samples throttled", "gpu_throttle_reasons": "By", "gpu_throttled": "Throttled",
    "gpu_memory_gib": "GPU memory", "gpu_energy_j": "Energy in window", "gpu_energy_per_token_j": "Per token in window",
    "gpu_energy_run_j": "Energy of run", "gpu_energy_run_per_token_j": "Per token of run",
    "gpu_temperature_c": "Temperature", "gpu_note": "Note", "sampler_node_ms": "CPU sample p99",
    "sampler_gpu_ms": "GPU sample p99", "sessions": "Sessions", "runs": "Runs", "runs_not_ok": "Not ok",
    "tpot_mean_ms": "TPOT", "ttft_mean_ms": "TTFT", "itl_p50_ms": "ITL median", "e2el_mean_ms": "E2EL", "what": "What",
    "expected": "Expected", "cost_s": "Cost", "phase": "Phase", "label": "Label",
    "scrapes": "Scrapes", "waiting_mean": "Waiting", "outside_mean": "Outside", "outside_share": "Outside share",
    "engine_arrival_rate_req_s": "Arrivals", "engine_steps": "Engine steps", "tokens_per_engine_step": "Tokens a step",
    "loop_lag_p99_ms": "Loop lag p99", "resend_gap_median_ms": "Resend gap", "itl_client_mean_ms": "ITL client",
    "itl_server_mean_ms": "ITL server", "itl_ratio": "ITL ratio", "ttft_client_mean_ms": "TTFT client",
    "ttft_server_mean_ms": "TTFT server", "ttft_excess_ms": "TTFT excess", "saturated": "Bottleneck",
    "quantity": "Quantity", "client": "Client", "metrics": "/metrics", "log": "Log", "difference": "Difference",
    "outcome": "Outcome", "tokens_per_chunk": "Tokens a chunk", "tokens_per_step": "Tokens a step", "step_ms": "Step",
    "throughput_peak_tok_s": "Peak throughput", "stalls": "Stalls", "ttft_p50_ms": "TTFT median",
    "ttft_p90_ms": "TTFT p90", "ttft_p99_ms": "TTFT p99", "ttft_slow_share": "Slow group",
    "ttft_mode_ratio": "Slow over fast", "tokens_from": "Tokens counted by",
}


def label(column: str) -> str:
    """The heading of `column`."""
    return LABELS.get(column, column)
