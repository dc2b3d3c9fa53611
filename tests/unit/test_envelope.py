"""Thinning a series for drawing: points only of the series, its extremes and gaps kept, no more than can be seen."""

from __future__ import annotations

import numpy as np
from benchbook.present.envelope import envelope
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(float("nan"))), min_size=1, max_size=300)


@given(values=VALUES, width=st.floats(0.01, 500))
def test_points_are_the_series_own_in_order_with_its_extremes_and_gaps(values: list[float], width: float) -> None:
    y = np.array(values)
    x = np.arange(len(y)) * 0.5
    thin_x, thin_y = envelope(x, y, width)
    assert (np.diff(thin_x) > 0).all()
    np.testing.assert_array_equal(thin_y, y[(thin_x * 2).astype(int)])
    for column in np.unique(np.floor(x / width)):
        whole, kept = y[np.floor(x / width) == column], thin_y[np.floor(thin_x / width) == column]
        if not np.isnan(whole).all():
            assert (np.nanmin(whole), np.nanmax(whole)) == (np.nanmin(kept), np.nanmax(kept))
    runs = [np.count_nonzero(np.diff(np.isnan(series).astype(int))) for series in (y, thin_y)]
    assert runs[0] == runs[1]


def test_a_long_session_is_thinned_to_four_points_a_column_and_a_spike_survives() -> None:
    x = np.arange(0, 7200, 0.2)
    y = np.full(len(x), 50.0)
    y[12_345] = 100.0
    thin_x, thin_y = envelope(x, y, 7200 / 600)
    assert len(thin_x) <= 4 * 600
    assert thin_y.max() == 100.0


def test_nothing_to_thin() -> None:
    assert envelope(np.array([]), np.array([]), 1.0)[0].size == 0
    assert envelope(np.array([0.0]), np.array([1.0]), 0.0)[1].tolist() == [1.0]
