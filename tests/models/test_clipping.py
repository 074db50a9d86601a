"""Test that clipping shrinks gradients to a norm of at most S, and no further."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crowdml.models import clip_factors, clipped_mean
from crowdml.models.clipping import margin
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
    # Clipping uses all but a billionth of S, so no accuracy is lost.
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


def test_margin_covers_the_worst_rounding() -> None:
    """Check the proof's last line in exact fractions, for the largest model and all kinds of n."""
    u, d = Fraction(1, 2**53), 10**6
    for n in [*range(1, 3000), 10**4, 10**5, 10**6]:
        rounded = n * (n + 4) * u / (1 - (n + 4) * u)
        assert (1 - Fraction(margin(n))) * (1 + 2 * d * u) + rounded <= 1


@pytest.mark.parametrize("n", [1000, 300_000])
def test_averages_move_by_no_more_than_stated(n: int) -> None:
    """Compare averages in exact fractions, with sums added one by one as in JavaScript."""
    rng = np.random.default_rng(1)
    for clip in rng.uniform(0.1, 4.0, 8).tolist():
        longest = clip * (1 - margin(n))
        g = rng.random(n) * longest
        averages = []
        for first in (longest, -longest):
            g[0] = first
            averages.append(Fraction(float(np.cumsum(g)[-1]) / n))
        assert averages[0] - averages[1] <= 2 * Fraction(clip) / n
