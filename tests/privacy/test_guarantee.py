"""The promise itself: e^ε, computed exactly from the law of the noise for real neighbours."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crowdml.device.routines import summarize
from crowdml.models import Hinge, Model, Softmax
from crowdml.privacy import Epsilon, Sanitizer, bound_features
from crowdml.types import Array, Flags
from tests.privacy.law import log_probability, worst_log_ratio
from tests.privacy.spy import Spy

LEVELS = Epsilon(gradient=0.7, errors=0.3, labels=0.13)
ROUNDING = 1 + 1e-9


def losses(
    model: Model, w: Array, one: tuple[Array, Array], other: tuple[Array, Array], heldout: Flags,
    planted: float = 1.0,
) -> dict[str, float]:  # fmt: skip
    """The largest log-ratio of each release, over all that the server could ever see.

    Args:
        model: What is learnt.
        w: The parameters checked out.
        one: x and y of a minibatch.
        other: The same with one sample replaced.
        heldout: Which samples are set aside.
        planted: A wrong factor on the scale of the noise.
    """
    door = Sanitizer(LEVELS, min(2.0, model.l1_bound), model.size)
    seen = []
    for x, y in (one, other):
        spy = Spy()
        summary = summarize(model, w, x, y, heldout, door.clip)
        event = door.event(summary.n_training, summary.n_heldout)
        door.sanitize(summary, w, event, spy)
        seen.append(spy)
    here, there = seen
    assert here.scales == there.scales
    return {
        what: worst_log_ratio(u.tolist(), v.tolist(), planted * scale)
        for what, u, v, scale in zip(
            ("gradient", "errors", "labels"), here.values, there.values, here.scales, strict=True
        )
    }


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Model, Array, Array, Array, Array, Array, Flags]:
    model = draw(st.sampled_from([Softmax(2, 3), Hinge(2, 2, intercept=True)]))
    n = draw(st.integers(2, 6))
    w = draw(hnp.arrays(np.float64, model.size, elements=st.floats(-20, 20)))
    numbers = st.floats(-5, 5)
    raw = draw(hnp.arrays(np.float64, (n + 1, 2), elements=numbers))
    y = draw(hnp.arrays(np.float64, n + 1, elements=st.integers(0, model.n_classes - 1).map(float)))
    x = np.array([bound_features(row, 2) for row in raw])
    replaced = draw(st.integers(0, n - 1))
    rows = np.arange(n)
    rows[replaced] = n
    heldout = np.zeros(n, dtype=np.bool_)
    heldout[: draw(st.integers(0, n - 1))] = True
    return model, w, x[:n], y[:n], x[rows], y[rows], heldout


@settings(deadline=None, max_examples=200)
@given(neighbours())
def test_no_pair_of_neighbours_loses_more_than_promised(
    case: tuple[Model, Array, Array, Array, Array, Array, Flags],
) -> None:
    model, w, x, y, other_x, other_y, heldout = case
    lost = losses(model, w, (x, y), (other_x, other_y), heldout)
    assert lost["gradient"] <= LEVELS.gradient * ROUNDING
    assert lost["errors"] <= LEVELS.errors * ROUNDING
    assert lost["labels"] <= LEVELS.labels * ROUNDING
    door = Sanitizer(LEVELS, min(2.0, model.l1_bound), model.size)
    event = door.event(int((~heldout).sum()), int(heldout.sum()))
    assert math.fsum(lost.values()) <= event.per_sample * ROUNDING


def worst_case(heldout: bool) -> tuple[Model, Array, tuple[Array, Array], tuple[Array, Array]]:
    """A sample and its replacement that differ in everything that is told.

    The parameters say class 1 for everything but the third feature, so that (e₁, 0) is an error
    with a gradient of length 2, and (e₂, 2) likewise; (e₃, 1) is right.
    """
    model = Softmax(n_features=3, n_classes=3)
    w = np.zeros((3, 3))
    w[1] = 1e3
    right = np.array([0.0, 0.0, 1.0]), 1.0
    wrong = np.array([1.0, 0.0, 0.0]), 0.0
    also_wrong = np.array([0.0, 1.0, 0.0]), 2.0
    first, second = (wrong, right) if heldout else (wrong, also_wrong)
    x = np.array([first[0], *[right[0]] * 4])
    y = np.array([first[1], *[right[1]] * 4])
    other_x, other_y = x.copy(), y.copy()
    other_x[0], other_y[0] = second
    return model, w.ravel(), (x, y), (other_x, other_y)


def test_promise_is_nearly_used_up_by_gradient_and_labels() -> None:
    """So the check above is not vacuous, and no noise is wasted."""
    lost = losses(*worst_case(heldout=False), np.zeros(5, dtype=np.bool_))
    assert 0.9999 * LEVELS.gradient < lost["gradient"] <= LEVELS.gradient * ROUNDING
    assert lost["labels"] == pytest.approx(LEVELS.labels)


def test_promise_is_used_up_by_errors_and_labels() -> None:
    heldout = np.array([True, False, False, False, False])
    lost = losses(*worst_case(heldout=True), heldout)
    assert lost["gradient"] == 0.0
    assert lost["errors"] == pytest.approx(LEVELS.errors)
    assert lost["labels"] == pytest.approx(LEVELS.labels)


@pytest.mark.parametrize("planted", [0.5, 0.99, 1 / math.sqrt(2)])
def test_too_little_noise_would_be_found(planted: float) -> None:
    lost = losses(*worst_case(heldout=False), np.zeros(5, dtype=np.bool_), planted)
    assert lost["gradient"] > LEVELS.gradient * ROUNDING
    assert lost["labels"] > LEVELS.labels * ROUNDING


def test_divisor_of_the_batch_would_be_found() -> None:
    """With held-out samples, noise for 4/b instead of 4/n protects less than promised."""
    heldout = np.array([False, False, False, True, True])
    lost = losses(*worst_case(heldout=False), heldout, planted=3 / 5)
    assert lost["gradient"] > 1.6 * LEVELS.gradient
    honest = losses(*worst_case(heldout=False), heldout)
    assert honest["gradient"] <= LEVELS.gradient * ROUNDING


def test_worst_ratio_by_brute_force() -> None:
    """Every output of a small window, in two coordinates: the shortcut misses nothing."""
    u, v, scale = [3, -2], [1, 2], 2.7
    window = range(-15, 16)
    worst = max(
        sum(
            log_probability(o - a, scale) - log_probability(o - b, scale)
            for o, a, b in zip((o1, o2), u, v, strict=True)
        )
        for o1 in window
        for o2 in window
    )
    assert worst_log_ratio(u, v, scale) == pytest.approx(worst)
    assert worst == pytest.approx(6 / scale)
