"""What a node costs by the hour, and what that makes of a million tokens (method.md 9)."""

from __future__ import annotations

HOUR_S = 3600.0
MTOK = 1e6


def gpu_usd_per_hour(usd_per_gpu_second: float) -> float:
    """Price of one GPU for an hour, in USD, from its price by the second."""
    return usd_per_gpu_second * HOUR_S


def node_usd_per_hour(
    gpus: int, usd_per_gpu_hour: float, cores: float, usd_per_core_hour: float, gib: float, usd_per_gib_hour: float
) -> float:
    """List price of a node for an hour, in USD: its GPUs, its CPU cores and its memory in GiB."""
    return gpus * usd_per_gpu_hour + cores * usd_per_core_hour + gib * usd_per_gib_hour


def usd_per_mtok(usd_per_hour: float, throughput_tok_s: float) -> float:
    """USD for a million tokens at this throughput in tok/s. Raises ValueError unless throughput is above 0."""
    if not throughput_tok_s > 0:
        raise ValueError(f"throughput must be above 0 tok/s, not {throughput_tok_s}")
    return MTOK * usd_per_hour / (HOUR_S * throughput_tok_s)


def usd_per_mtok_interval(usd_per_hour: float, low_tok_s: float, high_tok_s: float) -> tuple[float, float]:
    """The same for both ends of an interval of throughput: the lower cost belongs to the higher throughput."""
    return usd_per_mtok(usd_per_hour, high_tok_s), usd_per_mtok(usd_per_hour, low_tok_s)


def usd(usd_per_hour: float, time_s: float) -> float:
    """USD that the node costs for `time_s` seconds."""
    return usd_per_hour * time_s / HOUR_S


def bill_usd(*parts_usd: float) -> float:
    """Sum of the parts of a bill, in USD."""
    return sum(parts_usd)


def share(part: float, whole: float) -> float:
    """Part over whole, of money or of time. Raises ValueError unless the whole is above 0."""
    if not whole > 0:
        raise ValueError(f"the whole must be above 0, not {whole}")
    return part / whole
