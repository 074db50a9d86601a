"""The family: layout of the parameters, and the L1 bound under any input a device lets in."""

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


@st.composite
def samples(draw: st.DrawFn) -> tuple[LinearModel, Array, Array, Array]:
    """A model, w as a check-out can bring it, and n samples as a device lets them in."""
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
    x = np.array([bound_features(row, model.n_features) for row in raw])
    targets = (
        st.integers(0, model.n_classes - 1).map(float)
        if model.n_classes
        else st.floats(-1e12, 1e12)
    )
    y = draw(hnp.arrays(np.float64, n, elements=targets))
    return model, w, x, y


@settings(deadline=None, max_examples=300)
@given(samples())
def test_no_input_passes_the_bound(case: tuple[LinearModel, Array, Array, Array]) -> None:
    model, w, x, y = case
    l1_norms = np.abs(model.gradients(w, x, y)).sum(axis=1)
    assert (l1_norms <= model.l1_bound * (1 + 1e-12)).all()


@settings(deadline=None, max_examples=300)
@given(samples(), st.floats(1e-3, 4.0))
def test_no_input_passes_the_clip(
    case: tuple[LinearModel, Array, Array, Array], clip: float
) -> None:
    """Not even by a rounding error: the sanitizer refuses an average longer than S."""
    model, w, x, y = case
    assert np.abs(model.mean_gradient(w, x, y, clip)).sum() <= clip


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
def test_intercept_doubles_the_bound(intercept: bool) -> None:
    assert Softmax(3, 2, intercept).l1_bound == 2.0 * (1 + intercept)
    assert Hinge(3, 2, intercept).l1_bound == 2.0 * (1 + intercept)
    assert Huber(3, 0, intercept, delta=0.3).l1_bound == 0.3 * (1 + intercept)
    assert Ridge(3, 0, intercept).l1_bound == np.inf


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
def test_refuses(make: Callable[[], LinearModel], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()
