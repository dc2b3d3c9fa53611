"""What a number of sessions can find, and what one session can say (method.md 4). All on the scale of ln y."""

from __future__ import annotations

import math

from scipy import optimize, stats


def mde(
    n_per_arm: float, sigma: float = 1.0, power: float = 0.8, alpha: float = 0.05, paired: bool = False,
    df: float | None = None,
) -> float:
    """Smallest true difference that a two-sided t test at `alpha` finds with probability `power`.

    `n_per_arm` sessions in each arm, or pairs; `sigma`: standard deviation of a session mean, or of a pair's
    difference. `df` of the standard error, by default what these sessions leave: 2 (n - 1), or n - 1 for pairs. Pooled
    over k arms it is k (n - 1); math.inf when sigma is known. ValueError when df is below 1.
    """
    freedom = df if df is not None else (1 if paired else 2) * (n_per_arm - 1)
    if freedom < 1:
        raise ValueError(f"{freedom} degrees of freedom: no t test is there to find anything")
    return sigma * math.sqrt((1 if paired else 2) / n_per_arm) * _noncentrality(power, alpha, freedom)


def band(
    session_sigma: float, repeat_sigma: float, repeats: float = 1, baseline_repeats: float = 1, level: float = 0.95,
    df: float | None = None,
) -> float:
    """Half-width of the band within which one session against one differs for no reason.

    `repeats`: runs in each of the two sessions. `df`: of the standard deviations, None where they are taken as known.
    """
    z = stats.norm.isf((1 - level) / 2) if df is None else stats.t.isf((1 - level) / 2, df)
    return float(z * math.sqrt(2 * session_sigma**2 + repeat_sigma**2 * (1 / repeats + 1 / baseline_repeats)))


def repeats_per_boot(boot_s: float, repeat_s: float, session_sigma: float, repeat_sigma: float) -> float:
    """Repeats in one boot at which the arm's level is found at the least node time (Kalibera & Jones 2013); inf where
    boots do not differ."""
    if session_sigma == 0:
        return math.inf
    return math.sqrt(boot_s * repeat_sigma**2 / (repeat_s * session_sigma**2))


def _noncentrality(power: float, alpha: float, df: float) -> float:
    """Difference over its standard error at which the test has that power; t squared is F with one df above."""
    if math.isinf(df):
        critical = float(stats.norm.isf(alpha / 2))
        return float(optimize.brentq(
            lambda d: stats.norm.sf(critical - d) + stats.norm.cdf(-critical - d) - power, 0, critical + 40
        ))  # fmt: skip
    critical = float(stats.t.isf(alpha / 2, df)) ** 2

    def lacks(d: float) -> float:
        return float(stats.ncf.sf(critical, 1, df, d**2)) - power

    high = 1.0
    while lacks(high) < 0:
        high *= 2
    return float(optimize.brentq(lacks, 1e-9, high))
