"""Test the estimator as users of scikit-learn use it, with scikit-learn and without."""

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.learnt import LearntRegressor, LearntSoftmax, write_model
from crowdml.types import Array
from tests.cli.command import environment
from tests.learnt.models import KINDS, features, learnt, made
from tests.support.servers import make_task

X = features()
BY_FIRST = make_task(target__labels=["walk", "bus", "run"])
"""A task whose model predicts the label whose feature is the largest."""


def classifier() -> LearntSoftmax:
    model = made(BY_FIRST, 5 * np.eye(3, 4), np.zeros(3))
    assert isinstance(model, LearntSoftmax)
    return model


def regressor() -> LearntRegressor:
    model = made(KINDS["ridge"], np.array([[1.0, 2.0, 0.0, 0.0]]), np.array([0.5]))
    assert isinstance(model, LearntRegressor)
    return model


def test_labels_by_name_and_columns_by_sorted_name() -> None:
    model, rows = classifier(), np.eye(3, 4)
    assert model.classes_.tolist() == ["bus", "run", "walk"]
    assert model.predict(rows).tolist() == ["walk", "bus", "run"]
    chances = model.predict_proba(rows)
    assert chances.argmax(axis=1).tolist() == [2, 0, 1]
    assert chances.sum(axis=1) == pytest.approx(1)
    assert model.predict(np.zeros((1, 4))).tolist() == ["walk"], "a tie goes to the task's first"
    assert model.score(rows, ["walk", "bus", "bus"]) == pytest.approx(2 / 3)
    assert model.decision_function(rows)[0].tolist() == [0.0, 0.0, 5.0]


def test_numbers() -> None:
    model = regressor()
    rows = np.array([[0.5, 0.25, 0.0, 0.0], [200.0, 200.0, 0.0, 0.0]])
    assert model.predict(rows).tolist() == [1.5, 2.0]
    assert model.score(rows, [1.5, 2.0]) == 1.0
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "predict_proba")


def test_a_machine_without_probabilities_says_so() -> None:
    model = learnt(KINDS["hinge"])
    assert not hasattr(model, "predict_proba")
    assert model.decision_function(X).shape == (300, 3)  # type: ignore[attr-defined]
    two = learnt(KINDS["softmax with intercepts"])
    lead = two.decision_function(X)  # type: ignore[attr-defined]
    assert (np.where(lead > 0, "b", "a") == two.predict(X)).all()


def test_what_it_was_learnt_under() -> None:
    model = learnt(KINDS["softmax of people"])
    about = model.about
    assert (about.task, about.mechanism, about.unit) == ("activity", "direction", "person")
    assert (about.epsilon, about.delta, about.version) == (40.0, 0.0, 6)
    assert repr(model) == (
        "LearntSoftmax(task='activity', version=6, mechanism='direction', epsilon=40.0, "
        "unit='person')"
    )
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([1.0, 2.0, 3.0, 4.0], r"4 numbers in each row, found the shape \(4,\)"),
        (np.zeros((3, 5)), r"found the shape \(3, 5\)"),
        ([[1.0, 2.0], [1.0]], "X must be a table of numbers"),
        ([["a", "b", "c", "d"]], "X must be a table of numbers"),
        (None, "X must be a table"),
        (np.vstack([X[:7], np.full((2, 4), np.nan)]), r"in row 7 \(of 2 such rows\)"),
    ],
)
def test_rows_that_are_rejected(rows: Any, sentence: str) -> None:
    for model in (classifier(), regressor()):
        with pytest.raises(InvalidInput, match=sentence):
            model.predict(rows)


class Table:
    """Imitate the part of a data frame that the estimator uses."""

    def __init__(self, columns: list[str], rows: Array) -> None:
        self.columns, self.rows = columns, rows

    def __getitem__(self, names: list[str]) -> "Table":
        return Table(names, self.rows[:, [self.columns.index(name) for name in names]])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.rows.astype(dtype)


def test_columns_are_found_by_name() -> None:
    model = classifier()
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]
    mixed: Any = Table(["x3", "x0", "x2", "x1"], X[:, [3, 0, 2, 1]])
    other: Any = Table(["a", "b", "c", "d"], X)
    for table in (mixed, other):
        assert (model.predict(table) == model.predict(X)).all()


def test_readings_by_name() -> None:
    model = learnt(KINDS["raw units"])
    light, warmth, _, noise = (float(value) for value in X[99])
    row = {"noise": noise, "hours": None, "warmth": warmth, "light": light}
    expected = model.bounded([[light, warmth, np.nan, noise]]).tolist()
    frame: Any = Table(["id", "noise", "hours", "warmth", "light"],
                       np.array([[7.0, noise, np.nan, warmth, light]]))  # fmt: skip
    assert expected[0][2] == 0.0
    for readings in (row, [row], [row | {"id": 7}], frame):
        assert model.bounded(readings).tolist() == expected
    assert model.predict([row, row]).shape == (2,)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"warmth": None, "warmht": 3.0}, "'warmth' is missing, found 'warmht'. Did you mean"),
        ({"hours": None}, "'hours' is missing"),
    ],
)
def test_a_misspelt_or_missing_column(change: dict[str, float | None], words: str) -> None:
    model = learnt(KINDS["raw units"])
    row = dict.fromkeys(model.about.names, 1.0) | change
    row = {name: value for name, value in row.items() if value is not None}
    frame: Any = Table(list(row), np.ones((1, len(row))))
    for readings in (row, [row], frame):
        with pytest.raises(InvalidInput, match=words):
            model.predict(readings)


# Use in scikit-learn


def test_in_scikit_learn() -> None:
    """Use pipelines, cross-validation, scorers and importances, without a warning."""
    from sklearn.base import clone, is_classifier, is_regressor
    from sklearn.inspection import permutation_importance
    from sklearn.metrics import log_loss
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.utils.validation import check_is_fitted

    model = classifier()
    rows = np.abs(X)
    y = np.array(["walk", "bus", "run"])[rows[:, :3].argmax(axis=1)]
    assert is_classifier(model)
    assert is_regressor(regressor())
    check_is_fitted(model)
    assert clone(model) is model
    pipeline = make_pipeline(FunctionTransformer(np.abs), model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (pipeline.fit(X, y).predict(X) == y).all()
        assert cross_val_score(pipeline, X, y, cv=3).tolist() == [1.0, 1.0, 1.0]
        (loss,) = set(cross_val_score(model, rows[1:], y[1:], cv=[([0], range(299))],
                                      scoring="neg_log_loss"))  # fmt: skip
        assert -loss == pytest.approx(log_loss(y[1:], model.predict_proba(rows[1:])))
        found = permutation_importance(model, rows, y, n_repeats=2, random_state=0)
        assert found.importances_mean[:3].min() > 0.1
        assert found.importances_mean[3] < 0.1


def test_numpy_is_enough(tmp_path: Path) -> None:
    """Check that loading and predicting import neither scikit-learn nor any other extra."""
    (tmp_path / "model.npz").write_bytes(write_model(classifier(), "npz"))
    program = (
        "import sys; extras = 'sklearn onnx scipy starlette sqlalchemy opendp'.split()\n"
        "for name in extras: sys.modules[name] = None\n"
        "import crowdml; model = crowdml.load_model('model.npz')\n"
        "print(model.predict([[0, 1, 0, 0]])[0], model.predict_proba([[0, 1, 0, 0]]).argmax())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path), timeout=120,
    )  # fmt: skip
    assert done.stdout == "bus 0\n", done.stderr
