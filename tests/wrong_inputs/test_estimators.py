"""Wrong arguments of the scikit-learn estimators.

Settings and `groups` are crowdml's own and end in `InvalidInput`. X and y are checked by
scikit-learn, whose conformance suite asks for its own `ValueError` and `TypeError`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.sklearn import CrowdClassifier, CrowdRegressor
from tests.wrong_inputs.expect_error import expect

NAN = math.nan
ROWS = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 2))
HALVES = (ROWS[:, 0] > 0).astype(int)
BOUNDS = r"must be \(low, high\) with low < high, both finite"
PAIRS: list[Any] = [
    None, 5, (1,), (1, 1), (2, 1), (NAN, 1), (-math.inf, math.inf), "ab", (0, 1, 2), (None, 1),
    ([0] * 3, [1] * 3), {},
]  # fmt: skip
SETTINGS: list[tuple[str, str, list[Any]]] = [
    ("epsilon", "epsilon must be", [0, -1, "a", "1", [1], 1j, NAN, None, True]),
    ("mechanism", "mechanism must be one of direction", ["none", None, 5, "", "Laplace", []]),
    ("model", "model must be one of softmax|takes no labels", ["svm", None, 5, "ridge", "", []]),
    ("checkins", "checkins must be a whole number in 1 … 1,",
     [0, -1, 1.5, "1", None, 21, 1000, True, NAN]),
    ("bounds", BOUNDS, PAIRS),
    ("regularization", "regularization must be", [-1, NAN, math.inf, None, [0], "0", True]),
    ("fit_intercept", "fit_intercept must be True or False", [None, 1, "yes", "no", 0]),
    ("start", "start must be a fitted linear model", [5, "x", object(), np.zeros(2)]),
]  # fmt: skip
CLASSIFIERS = [(name, value, said) for name, said, values in SETTINGS for value in values]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    CLASSIFIERS,
    ids=[f"{n} {i}" for i, (n, *_) in enumerate(CLASSIFIERS)],
)
def test_settings(name: str, value: Any, said: str) -> None:
    settings = {"bounds": (-1, 1), name: value}
    expect(lambda: CrowdClassifier(**settings).fit(ROWS, HALVES), said, InvalidInput)


@pytest.mark.parametrize("value", PAIRS, ids=map(str, range(len(PAIRS))))
def test_bounds_of_a_number(value: Any) -> None:
    crowd = CrowdRegressor(bounds=(-1, 1), y_bounds=value)
    expect(lambda: crowd.fit(ROWS, ROWS[:, 0]), f"y_bounds {BOUNDS}", InvalidInput)


WRONG_LENGTHS: list[Any] = [[], "x", 5, [1, 2], [1] * 19, [1] * 21, [[1, 2]] * 20, {}]
NOBODY: list[Any] = [[None] * 20, [NAN, *range(19)], ["a"] * 19 + [None]]
GROUPS: list[tuple[Any, str]] = [
    *((each, "groups must have one entry for each of the 20 rows") for each in WRONG_LENGTHS),
    *((each, "groups must say whose each row is") for each in NOBODY),
    ([object()] * 10 + [{}] * 10, "groups must be texts or numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("groups", "said"), GROUPS, ids=map(str, range(len(GROUPS))))
def test_groups(groups: Any, said: str) -> None:
    expect(lambda: CrowdClassifier(bounds=(-1, 1)).fit(ROWS, HALVES, groups), said, InvalidInput)


TABLES: dict[str, tuple[Any, Any, str]] = {
    "None": (None, HALVES, "Expected 2D array"),
    "no y": (ROWS, None, "requires y to be passed"),
    "lengths": (ROWS, HALVES[:5], "inconsistent numbers of samples"),
    "nan": (ROWS * NAN, HALVES, "Input X contains NaN"),
    "inf": (np.full((20, 2), math.inf), HALVES, "Input X contains infinity"),
    "text": ([["a", "b"]] * 20, HALVES, "could not convert string to float"),
    "one column": (ROWS[:, 0], HALVES, "Expected 2D array, got 1D array"),
    "three dimensions": (ROWS[None], HALVES, "Found array with dim 3"),
    "no rows": (ROWS[:0], HALVES[:0], r"Found array with 0 sample\(s\)"),
    "objects": ([object()] * 20, HALVES, "float.. argument must be a string or a real number"),
    "nan in y": (ROWS, [NAN] * 20, "Input y contains NaN"),
}


@pytest.mark.parametrize("crowd", [CrowdClassifier, CrowdRegressor])
@pytest.mark.parametrize(("x", "y", "said"), TABLES.values(), ids=TABLES)
def test_tables(crowd: Callable[..., Any], x: Any, y: Any, said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        crowd(bounds=(-1, 1)).fit(x, y)


def test_labels_that_are_none() -> None:
    crowd = CrowdClassifier(bounds=(-1, 1))
    expect(lambda: crowd.fit(ROWS, HALVES * 0), "must be of 2 classes or more", InvalidInput)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        crowd.fit(ROWS, ROWS[:, 0])


LATER: dict[str, tuple[Any, str]] = {
    "None": (None, "Expected 2D array"),
    "width": (ROWS[:, :1], "X has 1 features, but CrowdClassifier is expecting 2"),
    "nan": (ROWS * NAN, "Input X contains NaN"),
    "text": ("ab", "could not convert string to float"),
    "one row": (ROWS[0], "Expected 2D array, got 1D array"),
}


@pytest.fixture(scope="module")
def fitted() -> CrowdClassifier:
    return CrowdClassifier(bounds=(-1, 1)).fit(ROWS, HALVES)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
@pytest.mark.parametrize(("x", "said"), LATER.values(), ids=LATER)
def test_predictions(fitted: CrowdClassifier, method: str, x: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        getattr(fitted, method)(x)


def test_predictions_before_fit() -> None:
    with pytest.raises(ValueError, match="is not fitted yet"):
        CrowdClassifier().predict(ROWS)
