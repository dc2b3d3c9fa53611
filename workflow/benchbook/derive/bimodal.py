"""Do the times to first token of a run fall into two groups (method.md 8, rule G)?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

REQUESTS_MIN = 64
BIC_GAIN, ASHMAN_D, WEIGHT_MIN, MODE_RATIO, SLOW_WEIGHT_MAX = 10.0, 2.0, 0.05, 3.0, 0.5
_SIGMA_MIN = 1e-3  # of ln TTFT: below a thousandth two groups would be told apart by rounding
_STEPS = 200
# Two groups within the limits on weight and ratio alone spread ln TTFT further; a mixture has its samples' variance.
_VARIANCE_MIN = 0.999 * WEIGHT_MIN * (1 - WEIGHT_MIN) * np.log(MODE_RATIO) ** 2


@dataclass(frozen=True)
class Modes:
    """Two groups of TTFT: medians of the fast and the slow one in the samples' unit, share of the slow one, gain in BIC
    over one group, Ashman's D, and whether rule G calls them two."""

    fast: float
    slow: float
    slow_share: float
    bic_gain: float
    ashman_d: float
    bimodal: bool


def modes(ttfts: np.ndarray) -> Modes | None:
    """Rule G on the TTFTs of one run without its first wave; None below REQUESTS_MIN samples.

    A mixture of two normals on ln TTFT against a single one: gain in BIC above 10, Ashman's D above 2, both weights at
    least 5 %, modes a factor 3 apart, the slow one the smaller. Of the tests in method.md 8 it is the one that flags
    neither skewed nor ramped single groups; bursts give ramps and staircases, hence the factor 3.
    """
    samples = np.log(np.sort(ttfts[ttfts > 0]))
    if len(samples) < REQUESTS_MIN:
        return None
    if samples.var() < _VARIANCE_MIN:
        middle = float(np.exp(np.median(samples)))
        return Modes(middle, middle, 0.0, 0.0, 0.0, False)
    one = _log_likelihood(samples, np.array([1.0]), samples.mean(keepdims=True), _spread(samples))
    weights, means, sigmas, two = _best_mixture(samples)
    gain = (2 * np.log(len(samples)) - 2 * one) - (5 * np.log(len(samples)) - 2 * two)
    low, high = np.argsort(means)
    distance = abs(means[1] - means[0]) * np.sqrt(2) / np.sqrt((sigmas**2).sum())
    ratio = float(np.exp(means[high] - means[low]))
    bimodal = (
        gain > BIC_GAIN and distance > ASHMAN_D and weights.min() >= WEIGHT_MIN and ratio >= MODE_RATIO
        and weights[high] <= SLOW_WEIGHT_MAX
    )  # fmt: skip
    return Modes(float(np.exp(means[low])), float(np.exp(means[high])), float(weights[high]), float(gain),
                 float(distance), bool(bimodal))  # fmt: skip


def _spread(samples: np.ndarray) -> np.ndarray:
    spread: np.ndarray = np.maximum(samples.std(keepdims=True), _SIGMA_MIN)
    return spread


def _densities(samples: np.ndarray, weights: np.ndarray, means: np.ndarray, sigmas: np.ndarray) -> np.ndarray:
    """Weighted log densities, one row per component."""
    scaled = (samples[None, :] - means[:, None]) / sigmas[:, None]
    densities: np.ndarray = np.log(weights)[:, None] - np.log(sigmas * np.sqrt(2 * np.pi))[:, None] - scaled**2 / 2
    return densities


def _log_likelihood(samples: np.ndarray, weights: np.ndarray, means: np.ndarray, sigmas: np.ndarray) -> float:
    return float(np.logaddexp.reduce(_densities(samples, weights, means, sigmas), axis=0).sum())


def _best_mixture(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Weights, means and sigmas of the likeliest of the mixtures that expectation maximisation reaches from several
    cuts of the sorted samples, and its log likelihood."""
    parts = [(samples[: int(len(samples) * cut)], samples[int(len(samples) * cut) :]) for cut in (0.5, 0.75, 0.9, 0.95)]
    weights = np.array([[len(part) / len(samples) for part in pair] for pair in parts])
    means = np.array([[part.mean() for part in pair] for pair in parts])
    sigmas = np.array([[max(part.std(), _SIGMA_MIN) for part in pair] for pair in parts])
    _maximise(samples, weights, means, sigmas)
    found = [(*mixture, _log_likelihood(samples, *mixture)) for mixture in zip(weights, means, sigmas, strict=True)]
    return max(found, key=lambda fit: fit[3])


def _maximise(samples: np.ndarray, weights: np.ndarray, means: np.ndarray, sigmas: np.ndarray) -> None:
    """Expectation maximisation of several mixtures at once, one a row of two, in place; each stops where another step
    would make it less than a millionth likelier, in ln."""
    middle = samples.mean()
    powers = (samples - middle)[None, :] ** np.arange(3)[:, None]  # 1, x and x squared: a log density is a sum of them
    whole = powers.sum(axis=1)
    going, before = np.arange(len(weights)), np.full(len(weights), -np.inf)
    for _ in range(_STEPS):
        centre, narrow = means[going] - middle, 1 / sigmas[going] ** 2
        level = np.log(weights[going]) - np.log(sigmas[going] * np.sqrt(2 * np.pi)) - centre**2 * narrow / 2
        factors = np.empty((len(going), 2, 3))
        factors[:, :, 0], factors[:, :, 1], factors[:, :, 2] = level, centre * narrow, -narrow / 2
        lead = (factors[:, 1] - factors[:, 0]) @ powers
        other = np.exp(-np.abs(lead))  # the lesser density over the greater
        total = factors[:, 0] @ whole + (np.maximum(lead, 0) + np.log1p(other)).sum(axis=1)
        both = 1 + other
        np.copyto(other, 1.0, where=lead > 0)
        second = (other / both) @ powers.T
        sums = np.empty((len(going), 2, 3))
        sums[:, 0], sums[:, 1] = whole - second, second
        members = np.maximum(sums[:, :, 0], 1e-12)
        weights[going] = members / len(samples)
        centre = sums[:, :, 1] / members
        means[going] = middle + centre
        sigmas[going] = np.sqrt(np.maximum(sums[:, :, 2] / members - centre**2, _SIGMA_MIN**2))
        more = total - before[going] >= 1e-6
        before[going] = total
        going = going[more]
        if not len(going):
            return
