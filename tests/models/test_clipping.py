"""Shrinking to a norm of at most S, and never more than that."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crowdml.models import clip_factors, clipped_mean
from crowdml.types import Array

rows = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 8)),
    elements=st.floats(-1e30, 1e30),
)


NORM = st.sampled_from([1, 2])


@settings(deadline=None)
@given(rows, st.floats(1e-6, 1e9), NORM)
def test_no_row_stays_longer_than_the_clip(gradients: Array, clip: float, norm: int) -> None:
    for row in gradients:
        short = clipped_mean(row[None, :], clip, norm)
        assert np.linalg.norm(short, norm) <= clip


@settings(deadline=None)
@given(rows, st.floats(1e-6, 1e9), NORM)
def test_direction_and_short_rows_stay(gradients: Array, clip: float, norm: int) -> None:
    lengths = np.linalg.norm(gradients, norm, axis=1)
    factors = clip_factors(lengths, clip)
    assert ((factors > 0) & (factors <= 1)).all()
    short = lengths <= clip * (1 - 1e-6)
    assert (factors[short] == 1).all()
    # All but a billionth of S is used: no accuracy is given away.
    assert (lengths[~short] * factors[~short] >= clip * (1 - 1e-5)).all()


def test_the_norms_differ() -> None:
    g = np.array([[3.0, -4.0]])
    assert clipped_mean(g, 3.5, norm=1) == pytest.approx([1.5, -2.0])
    assert clipped_mean(g, 3.5, norm=2) == pytest.approx([2.1, -2.8])
    assert clipped_mean(g, 6.0, norm=1) == pytest.approx([18 / 7, -24 / 7])
    assert clipped_mean(g, 6.0, norm=2).tolist() == [3.0, -4.0]


def test_infinite_clip_changes_nothing() -> None:
    gradients = np.array([[1e300, -2.0], [0.0, 0.0]])
    assert clipped_mean(gradients, np.inf).tolist() == [5e299, -1.0]


@pytest.mark.parametrize("clip", [1e-300, 1e-3, 2.0, 4.0, 5.0, 1e6, 1e9, 1e300])
def test_zero_gradient_stays_zero(clip: float) -> None:
    assert clipped_mean(np.zeros((2, 3)), clip).tolist() == [0.0, 0.0, 0.0]
