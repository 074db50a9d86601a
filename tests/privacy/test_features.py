"""Test what a device accepts: D finite numbers with ‖x‖ ≤ 1, and a valid target."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from crowdml.errors import InvalidSample
from crowdml.privacy import bound_features, bound_rows, check_target
from crowdml.types import Array

finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None, max_examples=300)
@given(hnp.arrays(np.float64, st.integers(1, 20), elements=finite), st.sampled_from([1, 2]))
def test_never_longer_than_one(x: Array, norm: int) -> None:
    """Check the length up to the rounding of d additions.

    The clip's margin of 2⁻³⁰ covers that rounding.
    """
    found = bound_features(x, len(x), norm)
    length = np.linalg.norm(found, norm)
    assert np.isfinite(found).all()
    assert length <= 1 + len(x) * 2.0**-52
    assert (np.sign(found) * np.sign(x) >= 0).all()
    if np.abs(x).max() > 1:
        assert length == pytest.approx(1.0)


@settings(deadline=None)
@given(
    hnp.arrays(np.float64, st.integers(1, 8), elements=st.floats(-0.1, 0.1)),
    st.sampled_from([1, 2]),
)
def test_short_vectors_stay_as_they_are(x: Array, norm: int) -> None:
    """Check that short vectors stay unchanged, except for numbers that are practically 0."""
    visible = np.where(np.abs(x) < 2.0**-60, 0.0, x)
    assert np.array_equal(bound_features(x, len(x), norm), visible)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([0.6, 0.0, -0.8, 0.0], [0.6, 0.0, -0.8, 0.0]),
        ([6.0, 0.0, -8.0, 0.0], [0.6, 0.0, -0.8, 0.0]),
        ([1e308, 1e308, -1e308, 1e308], [0.5, 0.5, -0.5, 0.5]),
        ([0.9, 0.0, 0.0, 0.9], [math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)]),
        ([1e200, 1e-200, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]),
    ],
)
def test_rescales_to_the_euclidean_length(x: Any, expected: list[float]) -> None:
    assert bound_features(x, 4, norm=2) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([1e308, 1e308, -1e308, 1e308], [0.25, 0.25, -0.25, 0.25]),
        ([1.7e308, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]),
        ([5e-324, 2.0**-60, -(2.0**-61), 0.0], [0.0, 2.0**-60, 0.0, 0.0]),
        ([1e300, 1e-300, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]),
        (np.array([1, 1, 0, 0], dtype=np.int8), [0.5, 0.5, 0.0, 0.0]),
        (np.array([-128, 0, 0, 0], dtype=np.int8), [-1.0, 0.0, 0.0, 0.0]),
        ((2.0, -2.0, 0.0, 0.0), [0.5, -0.5, 0.0, 0.0]),
        ([True, False, True, False], [0.5, 0.0, 0.5, 0.0]),
        (np.array([2**64 - 1, 0, 0, 0], dtype=np.uint64), [1.0, 0.0, 0.0, 0.0]),
        (np.array([3, 1, 0, 0], dtype=np.float16), [0.75, 0.25, 0.0, 0.0]),
    ],
)
def test_rescales(x: Any, expected: list[float]) -> None:
    assert bound_features(x, 4, norm=1).tolist() == expected


@pytest.mark.parametrize("norm", [1, 2])
def test_many_rows_are_bounded_as_one_is(norm: int) -> None:
    """Check that devices and simulations share one rule: a row that is short enough stays."""
    x = np.random.default_rng(2).normal(size=(50, 4)) * 10.0 ** np.arange(-200, 300, 10)[:, None]
    before = x.copy()
    found = bound_rows(x, norm)
    assert np.array_equal(x, before)
    for row, bounded in zip(x, found, strict=True):
        assert np.array_equal(bounded, bound_features(row, 4, norm))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0, 2.0, 3.0], r"x must be 4 numbers, found 3\."),
        ([[1.0, 2.0, 3.0, 4.0]], r"4 numbers, found an array of shape \(1, 4\)"),
        (1.0, r"4 numbers, found an array of shape \(\)"),
        ([1.0, 2.0, 3.0, np.nan], "finite numbers, found nan or inf"),
        ([1.0, 2.0, 3.0, -np.inf], "finite numbers, found nan or inf"),
        ([1.0, 2.0, 3.0, None], "x must be 4 numbers, found None"),
        (["1", "2", "3", "4"], "x must be 4 numbers, found '1'"),
        ([b"1", b"2", b"3", b"4"], "x must be 4 numbers, found b'1'"),
        ("abcd", "x must be 4 numbers, found 'abcd'"),
        (None, "x must be 4 numbers, found None"),
        ([[1.0], [2.0, 3.0]], "x must be 4 numbers: .*inhomogeneous"),
        ([1j, 0, 0, 0], "x must be 4 numbers, found 1j"),
        (np.zeros(4, dtype="datetime64[s]"), "x must be 4 numbers, found datetime"),
        pytest.param([10**400, 0, 0, 0], r"x must be 4 numbers, found \[1000", id="huge"),
    ],
)
def test_rejects_features(x: Any, message: str) -> None:
    with pytest.raises(InvalidSample, match=message):
        bound_features(x, 4, norm=1)


@pytest.mark.parametrize("x", [[0.25, -0.5], [3.0, -1.0], [1e308, 1e308]])
def test_gives_a_copy(x: list[float]) -> None:
    """Check that later changes to the caller's array and to the result do not affect each other.

    A caller may reuse its array.
    """
    given = np.array(x)
    found = bound_features(given, 2, norm=1)
    before = found.tolist()
    assert given.tolist() == x
    given[:] = 7.0
    assert found.tolist() == before
    found[:] = 9.0
    assert given.tolist() == [7.0, 7.0]


@pytest.mark.parametrize("y", [0, 1, 2, 2.0, np.int64(1), np.float32(2.0), np.uint8(0)])
def test_takes_labels(y: Any) -> None:
    found = check_target(y, 3)
    assert found == y
    assert isinstance(found, float)


NOT_LABELS: list[Any] = [
    *[3, -1, 1.5, np.nan, np.inf, -np.inf, 1e308, 10**15],
    *[None, "walking", "1", np.str_("1"), "", b"", b"1", [1], (1,), {}, 1j, object()],
    *[True, False, np.True_, np.False_, np.array(1), np.array([1])],
    pytest.param(10**400, id="huge"),
    pytest.param(-(10**400), id="-huge"),
]


@pytest.mark.parametrize("y", NOT_LABELS)
def test_rejects_labels(y: Any) -> None:
    with pytest.raises(InvalidSample, match=r"y must be a label 0 … 2, found "):
        check_target(y, 3)


@pytest.mark.parametrize("y", [0, -3.5, 1e12, -1e12, 2.0**-60, np.float32(0.5)])
def test_takes_targets(y: Any) -> None:
    assert check_target(y, 0) == y


NOT_TARGETS: list[Any] = [
    *[np.nan, np.inf, -np.inf, 1.0001e12, -1e308, np.float32(np.nan), np.float64(-np.inf)],
    *[None, "tall", "1.5", np.str_("1.5"), "", b"1.5", [1.0], (1.0,), {}, 1j, object()],
    *[True, False, np.True_, np.False_, np.array(1.0), np.array([1.0])],
    pytest.param(10**400, id="huge"),
    pytest.param(-(10**400), id="-huge"),
]


@pytest.mark.parametrize("y", NOT_TARGETS)
def test_rejects_targets(y: Any) -> None:
    with pytest.raises(InvalidSample, match=r"y must be a number within ±1e\+12, found "):
        check_target(y, 0)
