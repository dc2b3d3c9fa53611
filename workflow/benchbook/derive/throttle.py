"""Whether a GPU lowered its clock or ran at its power cap during a run (method.md 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

REASONS = {
    0x4: "software power cap", 0x8: "hardware slowdown", 0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown", 0x80: "power brake",
}  # fmt: skip
MASK = sum(REASONS)
SHARE_MAX, CLOCK_MIN, POWER_MAX = 0.01, 0.97, 0.95


def share(bits: pd.Series) -> float | None:
    """Share of samples in which one of REASONS (bits of nvmlClocksEventReasons) was active; None without samples."""
    known = bits.dropna().astype("int64")
    return float(((known & MASK) != 0).mean()) if len(known) else None


def names(bits: pd.Series) -> str | None:
    """The REASONS seen in any sample, in words; None when there was none."""
    seen = int(np.bitwise_or.reduce(bits.dropna().to_numpy("int64"), initial=0))
    return ", ".join(name for bit, name in REASONS.items() if seen & bit) or None


def throttled(row: Mapping[str, Any]) -> str | None:
    """Why a row of table `telemetry` counts as throttled, one clause per sign; None when no sign of it is there.

    Signs: a reason active in more than 1 % of the samples, a mean SM clock under .97 of the run's maximum, a mean
    power of at least .95 of the enforced limit. A null value says nothing either way.
    """
    signs = []
    active, clock, power = (
        row.get(name) for name in ("gpu_throttled_share", "gpu_sm_clock_share", "gpu_power_share")
    )
    if pd.notna(active) and active > SHARE_MAX:
        named = row.get("gpu_throttle_reasons")
        signs.append(f"{named if pd.notna(named) else 'throttled'} in {100 * active:.0f} % of the samples")
    if pd.notna(clock) and clock < CLOCK_MIN:
        signs.append(f"SM clock at {100 * clock:.0f} % of its maximum in the run")
    if pd.notna(power) and power >= POWER_MAX:
        signs.append(f"power at {100 * power:.0f} % of the limit")
    return "; ".join(signs) or None
