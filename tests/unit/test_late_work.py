"""Log lines that say a server is not warmed up yet."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from benchbook.engines.late_work import late_work

H200 = Path(__file__).parents[1] / "recorded" / "h200-qwen3moe.server.log.gz"


def test_the_kernel_that_was_compiled_under_load():
    text = gzip.decompress(H200.read_bytes()).decode()
    serving = text[text.index("Application startup complete") :]
    found = late_work(serving)
    assert len(found) == 1
    assert found[0][0] == "11-30 14:59:49" and "fused_moe_kernel" in found[0][1]


def test_the_boot_itself_is_late_work():
    text = gzip.decompress(H200.read_bytes()).decode()
    said = " ".join(message for _, message in late_work(text[: text.index("Application startup complete")]))
    for word in ("torch.compile took", "Autotuning process starts", "decode, FULL", "Graph capturing finished"):
        assert word in said


@pytest.mark.parametrize("line", [
    "TileLang JIT compilation during inference: mhc_pre. This causes a latency spike",
    "[2026-03-09 23:43:38 TP0] Capture target prefill CUDA graph end. elapsed=120.50 s, mem usage=4.00 GB",
    "[2026-03-09 11:28:42 TP0] Capture draft extend cuda graph begin. This can take up to several minutes.",
    "2026-03-09 16:52:08,125 - INFO - autotuner.py:1 - flashinfer.jit: [Autotuner]: Autotuning process starts ...",
    "[AutoTuner]: Tuning fp4_gemm:  80%|████  | 12/15 [00:00<00:00, 12.50profile/s]",
    "AUTOTUNE mm(16x4096, 4096x1024)",
    "(EngineCore pid=1) INFO 11-30 14:59:27 [x.py:79] Captu\x1b[32mring CUDA\x1b[0m graphs (decode, FULL)",
])  # fmt: skip
def test_work_is_named(line):
    assert len(late_work(line)) == 1


@pytest.mark.parametrize("line", [
    "(EngineCore pid=1) INFO 11-30 14:59:27 [jit_monitor.py:79] Kernel JIT monitor activated; monitored JIT "
    "compilations during inference will use mode=warn.",
    "(EngineCore pid=1) INFO 11-30 14:59:04 [w.py:1] Skipping CuTeDSL warmup because no compile units were requested.",
    "(APIServer pid=1) WARNING 11-30 14:59:04 [vllm.py:1] Enforce eager set, disabling torch.compile and CUDAGraphs.",
    "(APIServer pid=1) INFO 11-30 14:59:04 [compilation.py:317] Enabled custom fusions: norm_quant, act_quant",
    "",
])  # fmt: skip
def test_a_mention_is_no_work(line):
    assert late_work(line) == []


def test_a_line_without_time_has_none():
    assert late_work("Capturing CUDA graphs (decode, FULL): 100%|█| 5/5 [00:00<00:00, 13it/s]")[0][0] is None
