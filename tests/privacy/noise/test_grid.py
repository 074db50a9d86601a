"""Test the grid: its choice, its rounding, and the steps that one replaced sample can move."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crowdml.models import Hinge, Huber, Model, Ridge, Softmax
from crowdml.privacy import (
    GAUSSIAN,
    LAPLACE,
    Law,
    bound_features,
    choose_grid,
    quantize,
    sensitivity_steps,
)
from crowdml.types import Array

MODELS: list[Model] = [
    Softmax(3, 2),
    Softmax(2, 4, intercept=True),
    Hinge(3, 3),
    Huber(3, delta=0.7),
    Ridge(2, intercept=True),
]
LAWS = [LAPLACE, GAUSSIAN]
reals = st.floats(-1e6, 1e6)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Law, Model, float, Array, Array, Array, Array, Array]:
    """Draw a law, a model, S, w, and two minibatches that differ by one replaced sample."""
    model, law = draw(st.sampled_from(MODELS)), draw(st.sampled_from(LAWS))
    clip = min(model.bound(law.norm), draw(st.floats(0.01, 4.0)))
    n = draw(st.integers(1, 8))
    w = draw(hnp.arrays(np.float64, model.size, elements=st.floats(-100, 100)))
    rows = hnp.arrays(np.float64, (n, model.n_features), elements=reals)
    raw = draw(rows)
    targets = st.integers(0, model.n_classes - 1).map(float) if model.n_classes else reals
    y = draw(hnp.arrays(np.float64, n, elements=targets))
    x = np.array([bound_features(row, model.n_features, law.norm) for row in raw])
    other_x, other_y = x.copy(), y.copy()
    replaced = draw(st.integers(0, n - 1))
    new = draw(hnp.arrays(np.float64, model.n_features, elements=reals))
    other_x[replaced] = bound_features(new, model.n_features, law.norm)
    other_y[replaced] = draw(targets)
    return law, model, clip, w, x, y, other_x, other_y


@settings(deadline=None, max_examples=400)
@given(neighbours(), st.floats(0.01, 1000.0) | st.just(math.inf))
def test_one_replaced_sample_moves_no_further(
    case: tuple[Law, Model, float, Array, Array, Array, Array, Array], epsilon: float
) -> None:
    law, model, clip, w, x, y, other_x, other_y = case
    grid = choose_grid(clip, clip, len(x), epsilon)
    here = quantize(model.mean_gradient(w, x, y, clip, law.norm), grid)
    there = quantize(model.mean_gradient(w, other_x, other_y, clip, law.norm), grid)
    allowed = sensitivity_steps(clip, len(x), grid, law.rounding(model.size))
    assert (np.abs(here - there) ** law.norm).sum() <= allowed**law.norm


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("n", [1, 7, 20])
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_bound_is_nearly_attained(law: Law, n: int, epsilon: float) -> None:
    """Move a target from far below to far above, which moves the average by 2S/n in either norm."""
    model = Huber(n_features=3, delta=0.7)
    w, x, y = np.zeros(3), np.eye(3)[np.zeros(n, dtype=int)], np.full(n, 1e6)
    other = y.copy()
    other[0] = -1e6
    clip = model.bound(law.norm)
    grid = choose_grid(clip, clip, n, epsilon)
    here = quantize(model.mean_gradient(w, x, y, clip, law.norm), grid)
    there = quantize(model.mean_gradient(w, x, other, clip, law.norm), grid)
    moved = np.linalg.norm(here - there, law.norm)
    allowed = sensitivity_steps(clip, n, grid, law.rounding(model.size))
    assert 0.9999 * allowed <= moved <= allowed


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("size", [1, 2, 9, 10, 50])
def test_rounding_must_be_charged_for(law: Law, size: int) -> None:
    """Check that an average that hardly moves can move every rounded number by one whole step."""
    grid, clip, n = -20, 2.0, 1000
    half = math.ldexp(0.5, grid)
    here, there = np.full(size, half * (1 - 1e-9)), np.full(size, half * (1 + 1e-9))
    assert np.linalg.norm(here - there, law.norm) < 1e-6 * clip / n
    moved = np.linalg.norm(quantize(here, grid) - quantize(there, grid), law.norm)
    assert moved == pytest.approx(size ** (1 / law.norm))
    assert law.rounding(size) - 1 < moved <= law.rounding(size)


@settings(deadline=None)
@given(st.floats(1e-3, 1e3), st.integers(1, 10**6), st.integers(-60, 20), st.integers(1, 10**6))
def test_steps_are_exact(clip: float, n: int, grid: int, rounding: int) -> None:
    steps = sensitivity_steps(clip, n, grid, rounding) - rounding
    exact = 2 * Fraction(clip) / n / Fraction(2) ** grid
    assert 0 <= steps - exact < 1


@pytest.mark.parametrize(
    ("law", "clip", "n", "grid", "size", "steps"),
    [
        (LAPLACE, 2.0, 20, -23, 500, 1_677_722 + 500),
        (LAPLACE, 2.0, 4, 0, 3, 1 + 3),
        (LAPLACE, 0.5, 1, -3, 2, 8 + 2),
        (GAUSSIAN, 2.0, 20, -23, 500, 1_677_722 + 23),
        (GAUSSIAN, 2.0, 4, 0, 3, 1 + 2),
        (GAUSSIAN, 0.5, 1, -3, 4, 8 + 2),
        (GAUSSIAN, 0.5, 1, -3, 1, 8 + 1),
        (GAUSSIAN, 0.5, 1, -3, 10**6, 8 + 1000),
    ],
)
def test_steps_by_hand(law: Law, clip: float, n: int, grid: int, size: int, steps: int) -> None:
    assert sensitivity_steps(clip, n, grid, law.rounding(size)) == steps


@settings(deadline=None, max_examples=300)
@given(st.floats(1e-3, 1e3), st.floats(1.0, 1e6), st.integers(1, 10**6), st.floats(1e-3, 1e6))
def test_noise_is_a_million_steps_where_values_fit(
    clip: float, factor: float, n: int, epsilon: float
) -> None:
    largest = clip * factor
    grid = choose_grid(clip, largest, n, epsilon)
    step = Fraction(2) ** grid
    scale = 2 * Fraction(clip) / n / Fraction(epsilon) / step
    fits = Fraction(largest) / step
    assert fits <= 2**29 * (1 + Fraction(1, 10**12))
    assert scale < 2**21 * (1 + Fraction(1, 10**12))
    # A grid coarser than the noise needs is chosen only for lack of room.
    assert scale > 2**20 * (1 - Fraction(1, 10**12)) or fits > 2**28 * (1 - Fraction(1, 10**12))


@pytest.mark.parametrize("largest", [0.3, 1.0, 2.0, 2.0001, 1e6])
def test_without_noise_the_grid_is_the_finest_that_fits(largest: float) -> None:
    grid = choose_grid(1e-9, largest, 20, math.inf)
    assert 2**28 <= math.ldexp(largest, -grid) <= 2**29


@pytest.mark.parametrize("n", [20, 100_000])
def test_nearly_no_noise_is_like_none(n: int) -> None:
    """Check that the noise no longer decides the step at the largest level."""
    assert choose_grid(2.0, 2.0, n, 1e6) == choose_grid(2.0, 2.0, n, math.inf)


def test_ties_go_to_even() -> None:
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
    assert quantize(halves, 0).tolist() == [-2, -2, 0, 0, 2, 2]
    assert quantize(halves / 8, -3).tolist() == [-2, -2, 0, 0, 2, 2]


@settings(deadline=None)
@given(hnp.arrays(np.float64, st.integers(1, 10), elements=st.floats(-4, 4)), st.integers(-28, 4))
def test_rounding_is_to_the_nearest(g: Array, grid: int) -> None:
    u = quantize(g, grid)
    assert u.dtype == np.int64
    near = np.ldexp(u.astype(np.float64), grid)
    assert (np.abs(near - g) <= math.ldexp(0.5, grid)).all()
    assert np.array_equal(quantize(near, grid), u)
