"""The published write-up's figures of cost, busy time and stalls, through the functions that claims use."""

from __future__ import annotations

import numpy as np
import pytest
from benchbook.claims import busy, price
from benchforms import oracle
from hypothesis import given, settings
from hypothesis import strategies as st

POSITIVE = st.floats(1e-3, 1e6)


@pytest.mark.parametrize(("published", "tolerance", "computed"), [
    (7.1, 0.005, price.gpu_usd_per_hour(0.001972)),
    (64, 0.5, price.node_usd_per_hour(8, 7.0992, 32, 0.047, 768, 0.008)),
    (173.99, 0.015, price.bill_usd(154.07, 14.89, 5.04)),
    (0.2, 0.02, price.share(37.36, 173.99)),
    (12.3, 0.05, price.usd_per_mtok(64.44, 1451.5)),
    (0.37, 0.005, price.usd_per_mtok(64, 48159)),
    (8.5, 0.05, busy.idle_ms(0.5, 17.0)),
    (17.7, 0.1, busy.idle_ms(0.512, 36.38)),
    (18.6, 0.1, busy.busy_ms(0.512, 36.38)),
    (0.576, 0.001, busy.window_cover(87, 151)),
    (0.889, 0.001, busy.utilization_if_padded(0.512, 151, 87)),
    (0.247, 0.001, busy.stalled_share(1338, 135, 5001)),
    (0.196, 0.001, busy.stalled_share(1008, 549, 2888)),
    (0.539, 0.001, 593 / 1100),
])  # fmt: skip
def test_the_published_figures(published, tolerance, computed):
    assert computed == pytest.approx(published, abs=tolerance)


def test_a_padded_window_reads_half_of_a_busy_gpu():
    """method.md 0.2: true 89 % and 779 W read 51.5 % and 535 W over a window of which the run fills 58 %."""
    run = oracle.simulate(oracle.Config(concurrency=64, num_prompts=128, lout=512, t_fixed_ms=17,
                                        c_ms=0.08))
    duration_s = run.truth["duration_s"]
    pad_s = (duration_s / 0.576 - duration_s) / 2
    power = {"power_busy": 853.0, "power_idle": 180.0}
    samples = np.array(oracle.telemetry(run, dt=0.5, pad=(pad_s, pad_s), busy_frac=0.89, **power))
    inside = samples[(samples[:, 0] > 1) & (samples[:, 0] < duration_s)]
    assert inside[:, 2].mean() == pytest.approx(89, abs=0.5) and inside[:, 3].mean() == pytest.approx(779, abs=5)
    read = samples[:, 2].mean() / 100
    assert read == pytest.approx(0.515, abs=0.01)
    assert busy.utilization_if_padded(read, duration_s + 2 * pad_s, duration_s) == pytest.approx(0.89, abs=0.01)
    assert busy.quadrant(read, samples[:, 3].mean() / 1100) == busy.WAITING
    assert busy.quadrant(0.89, 779 / 1100) != busy.WAITING


@pytest.mark.parametrize(("utilization", "power", "told"), [
    (0.9, 0.85, busy.COMPUTE_OR_POWER), (1.0, 0.7, busy.MEMORY_OR_COMMUNICATION), (0.7, 0.7, busy.WAITING),
    (0.512, 0.539, busy.WAITING), (0.7, 0.85, busy.CONTRADICTORY), (0.95, 0.8, busy.INDETERMINATE),
    (0.5, 0.8, busy.INDETERMINATE), (0.8, 0.5, busy.INDETERMINATE),
])  # fmt: skip
def test_the_four_cases_and_what_lies_between(utilization, power, told):
    assert busy.quadrant(utilization, power) == told


@pytest.mark.parametrize(("spread_pp", "se_pp", "told"), [
    (4.8, 0.1, False), (5.1, 0.1, True), (8.0, 3.0, False), (0.8, 0.0, False),
])  # fmt: skip
def test_imbalance_is_large_and_beyond_its_error(spread_pp, se_pp, told):
    assert busy.imbalance(spread_pp, se_pp) is told


@settings(deadline=None)
@given(st.floats(0, 1), POSITIVE)
def test_busy_and_idle_add_up_to_the_step(utilization, step_ms):
    assert busy.busy_ms(utilization, step_ms) + busy.idle_ms(utilization, step_ms) == pytest.approx(step_ms)


@settings(deadline=None)
@given(POSITIVE, POSITIVE, st.floats(1, 10))
def test_cost_inverts_throughput_and_its_interval(usd_per_hour, throughput, factor):
    cost = price.usd_per_mtok(usd_per_hour, throughput)
    assert cost * throughput * price.HOUR_S == pytest.approx(price.MTOK * usd_per_hour)
    low, high = price.usd_per_mtok_interval(usd_per_hour, throughput / factor, throughput * factor)
    assert low <= cost * (1 + 1e-9) and cost <= high * (1 + 1e-9)
    assert high / low == pytest.approx(factor**2)
    assert price.usd(usd_per_hour, price.MTOK / throughput) == pytest.approx(cost)


@settings(deadline=None)
@given(st.floats(0.05, 0.5), st.floats(10, 1e3), st.floats(1.1, 50))
def test_the_stalled_share_is_that_of_two_groups(share, fast_ms, ratio):
    mean_ms = (1 - share) * fast_ms + share * fast_ms * ratio
    assert busy.stalled_share(mean_ms, fast_ms, fast_ms * ratio) == pytest.approx(share)


@pytest.mark.parametrize("call", [
    lambda: price.usd_per_mtok(64, 0), lambda: price.share(1, 0), lambda: busy.stalled_share(5, 5, 5),
])  # fmt: skip
def test_what_has_no_answer_is_refused(call):
    with pytest.raises(ValueError, match=r"above|there is no slow group"):
        call()
