"""Test Π, the projection to the nearest point of the ball."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crowdml.optim import project
from crowdml.types import Array

vectors = hnp.arrays(np.float64, st.integers(1, 6), elements=st.floats(-1e6, 1e6))


@settings(deadline=None)
@given(vectors, st.floats(1e-3, 1e7))
def test_inside_and_in_the_same_direction(w: Array, radius: float) -> None:
    before = w.copy()
    found = project(w, radius)
    assert np.array_equal(w, before)
    assert np.linalg.norm(found) <= radius * (1 + 1e-12)
    if np.linalg.norm(w) <= radius * (1 - 1e-12):
        assert np.array_equal(found, w)
    else:
        assert np.linalg.norm(found) == pytest.approx(min(radius, float(np.linalg.norm(w))))
        assert np.allclose(found * np.linalg.norm(w), w * np.linalg.norm(found))


def test_no_radius_and_zero() -> None:
    assert project(np.array([3.0, 4.0]), np.inf).tolist() == [3.0, 4.0]
    assert project(np.zeros(2), 1.0).tolist() == [0.0, 0.0]
