"""Test the linear models' parameter layout, and their bounds under any input a device accepts."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crowdml.errors import InvalidInput
from crowdml.models import Hinge, Huber, LinearModel, Ridge, Softmax
from crowdml.privacy import bound_features
from crowdml.types import Array

models = st.builds(
    lambda make, d, intercept: make(d, intercept),
    st.sampled_from(
        [
            lambda d, i: Softmax(d, 2, i),
            lambda d, i: Softmax(d, 5, i),
            lambda d, i: Hinge(d, 4, i),
            lambda d, i: Huber(d, 0, i, delta=0.3),
            lambda d, i: Huber(d, 0, i, delta=2.5),
            lambda d, i: Ridge(d, 0, i),
        ]
    ),
    st.integers(1, 5),
    st.booleans(),
)


Case = tuple[LinearModel, int, Array, Array, Array]


@st.composite
def samples(draw: st.DrawFn) -> Case:
    """Draw a model, a norm, w as a check-out can carry it, and n samples that a device accepts."""
    norm = draw(st.sampled_from([1, 2]))
    model: LinearModel = draw(models)
    n = draw(st.integers(1, 6))
    floats32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
    w = draw(hnp.arrays(np.float64, model.size, elements=floats32))
    raw = draw(
        hnp.arrays(
            np.float64,
            (n, model.n_features),
            elements=st.floats(allow_nan=False, allow_infinity=False),
        )
    )
    x = np.array([bound_features(row, model.n_features, norm) for row in raw])
    targets = (
        st.integers(0, model.n_classes - 1).map(float)
        if model.n_classes
        else st.floats(-1e12, 1e12)
    )
    y = draw(hnp.arrays(np.float64, n, elements=targets))
    return model, norm, w, x, y


@settings(deadline=None, max_examples=300)
@given(samples())
def test_no_input_passes_the_bound(case: Case) -> None:
    model, norm, w, x, y = case
    lengths = np.linalg.norm(model.gradients(w, x, y), norm, axis=1)
    assert (lengths <= model.bound(norm) * (1 + 1e-12)).all()


@settings(deadline=None, max_examples=300)
@given(samples(), st.floats(1e-3, 4.0))
def test_no_input_passes_the_clip(case: Case, clip: float) -> None:
    """Check that not even a rounding error exceeds S.

    The mechanism rejects an average longer than S.
    """
    model, norm, w, x, y = case
    assert np.linalg.norm(model.mean_gradient(w, x, y, clip, norm), norm) <= clip


def test_parameters_are_row_major_then_intercepts() -> None:
    model = Softmax(n_features=2, n_classes=3, intercept=True)
    w = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0, 20.0, 30.0])
    x = np.array([[0.5, -0.25]])
    expected = [[0.5 - 0.5 + 10, 1.5 - 1.0 + 20, 2.5 - 1.5 + 30]]
    assert model.scores(w, x).tolist() == expected
    gradient = model.gradients(w, x, np.array([0.0]))[0]
    slopes = gradient[6:]
    assert np.allclose(gradient[:6].reshape(3, 2), slopes[:, None] * x)


@pytest.mark.parametrize("intercept", [False, True])
def test_bounds(intercept: bool) -> None:
    """Check that an intercept multiplies the bound by 2 in L1 and by √2 in L2.

    An intercept acts as one more feature that is always 1.
    """
    for norm, labels in ((1, 2.0), (2, math.sqrt(2))):
        more = (1 + intercept) ** (1 / norm)
        assert Softmax(3, 2, intercept).bound(norm) == pytest.approx(labels * more)
        assert Hinge(3, 2, intercept).bound(norm) == pytest.approx(labels * more)
        assert Huber(3, 0, intercept, delta=0.3).bound(norm) == pytest.approx(0.3 * more)
        assert Ridge(3, 0, intercept).bound(norm) == np.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Softmax(0, 2), "n_features must be at least 1, found 0"),
        (lambda: Softmax(2, 1), "at least 2 classes, found 1"),
        (lambda: Hinge(2, 0), "at least 2 classes, found 0"),
        (lambda: Ridge(2, 3), "no classes, found n_classes = 3"),
        (lambda: Ridge(2, tolerance=0.0), "tolerance must be positive, found 0.0"),
        (lambda: Huber(2, delta=-1.0), "delta must be positive and finite, found -1.0"),
        (lambda: Huber(2, delta=np.inf), "delta must be positive and finite, found inf"),
        (lambda: Huber(2, delta=np.nan), "delta must be positive and finite, found nan"),
    ],
)
def test_rejects(make: Callable[[], LinearModel], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()
