"""Test what the estimators learn, the cost that they state, and the rows that they use."""

import inspect
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from crowdml.errors import InvalidInput
from crowdml.simulation import load_activity
from crowdml.sklearn import CrowdClassifier, CrowdRegressor
from crowdml.types import Array, Ints
from tests.docs.pages import blocks, page

GRID = (np.arange(600)[:, None] % (7, 11) / (3, 5) - 1).astype(float)
SIDE = np.where(GRID.sum(axis=1) > 0, "right", "left")
PERSON = np.arange(600) // 6
"""A hundred people with six rows each."""


@pytest.fixture
def _routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=False):
        yield


@pytest.mark.usefixtures("_routing")
def test_the_examples_in_the_documents_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in blocks(page("docs/sklearn.md"), "python"):
        exec(block, names)
    cost, score, _ = capsys.readouterr().out.splitlines()
    assert cost == "4.0 108 108"
    assert float(score) > 0.9
    one, four, ten = names["search"].cv_results_["mean_test_score"]
    assert one < four < ten


@pytest.mark.parametrize(
    ("mechanism", "groups", "person", "sample"),
    [
        ("direction", PERSON, 4.0, 4.0),
        ("direction", None, 4.0, 4.0),
        ("laplace", PERSON, 6 * 4.0, 4.0),
        ("laplace", None, 4.0, 4.0),
        ("gaussian", None, 4.0, 4.0),
    ],
)
def test_what_it_cost(mechanism: str, groups: Ints | None, person: float, sample: float) -> None:
    crowd = CrowdClassifier(mechanism=mechanism, random_state=0).fit(GRID, SIDE, groups=groups)
    assert crowd.epsilon_ == pytest.approx(person, rel=1e-6)
    assert crowd.epsilon_per_sample_ == pytest.approx(sample, rel=1e-6)
    assert crowd.delta_ == (1e-6 if mechanism == "gaussian" else 0)
    assert crowd.n_people_ == crowd.n_checkins_ == (600 if groups is None else 100)


def test_check_ins_of_a_person_share_epsilon() -> None:
    crowd = CrowdClassifier(epsilon=6, checkins=3, random_state=0).fit(GRID, SIDE, groups=PERSON)
    assert crowd.n_checkins_ == 300
    assert crowd.epsilon_ == pytest.approx(6)
    assert crowd.epsilon_per_sample_ == pytest.approx(2)


def test_more_epsilon_teaches_more() -> None:
    """Compare several ε with the same seeds, so that the result is the same every time."""
    data = load_activity()
    person = data.assign(108, np.random.default_rng(0))

    def score(epsilon: float) -> float:
        crowds = [CrowdClassifier(epsilon, bounds=(-200, 200), random_state=s) for s in range(3)]
        return float(np.mean([
            crowd.fit(data.x_train, data.y_train, groups=person).score(data.x_test, data.y_test)
            for crowd in crowds
        ]))  # fmt: skip

    low, some, much = score(0.1), score(4.0), score(math.inf)
    assert low < 0.8 < 0.95 < some < much


@pytest.mark.parametrize("model", ["softmax", "hinge"])
def test_patients_as_a_crowd(model: str) -> None:
    x, y = load_breast_cancer(return_X_y=True)
    crowd = CrowdClassifier(epsilon=10, model=model, random_state=0)
    assert make_pipeline(StandardScaler(), crowd).fit(x, y).score(x, y) > 0.85
    assert hasattr(crowd, "predict_proba") == (model == "softmax")


def test_numbers() -> None:
    x, y = load_diabetes(return_X_y=True)
    for model in ("huber", "ridge"):
        crowd = CrowdRegressor(math.inf, model=model, y_bounds=(0, 350), random_state=0)
        assert make_pipeline(StandardScaler(), crowd).fit(x, y).score(x, y) > 0.4


def test_what_is_learnt_is_what_is_used() -> None:
    """Check that rows that need no shrinking are scored by the parameters as they are."""
    low, high = np.array([-1.0, -1.0]), np.array([2.0, 2.0])
    crowd = CrowdClassifier(epsilon=10, bounds=(low, high), random_state=0).fit(GRID, SIDE)
    near = np.abs(GRID - 0.5).max(axis=1) < 0.5
    assert near.any()
    scores = GRID @ crowd.coef_[0] + crowd.intercept_
    np.testing.assert_allclose(crowd.decision_function(GRID)[near], scores[near])
    chances = crowd.predict_proba(GRID)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (crowd.classes_[chances.argmax(axis=1)] == crowd.predict(GRID)).all()
    number = CrowdRegressor(bounds=(low, high), y_bounds=(5, 9), random_state=0)
    number.fit(GRID, 7 + GRID[:, 0])
    expected = GRID[near] @ number.coef_ + number.intercept_
    np.testing.assert_allclose(number.predict(GRID)[near], expected)


def test_units_do_not_matter() -> None:
    """Check that bounds set the scale, so that feet and metres learn the same."""

    def learn(factor: float, shift: float) -> tuple[Array, Array]:
        bounds = (-3 * factor + shift, 3 * factor + shift)
        crowd = CrowdRegressor(bounds=bounds, y_bounds=bounds, random_state=0)
        crowd.fit(factor * GRID + shift, factor * GRID[:, 0] + shift)
        return crowd.coef_, (crowd.predict(factor * GRID + shift) - shift) / factor

    for one, other in zip(learn(1.0, 0.0), learn(100.0, 7.0), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_no_row_changes_how_others_are_seen() -> None:
    """Check that nothing is computed from X: a value far outside counts as at the bound."""
    far = np.vstack([GRID[1:], [[1e9, -1e9]]])
    near = np.vstack([GRID[1:], [[3.0, -3.0]]])
    one, other = (CrowdClassifier(random_state=0).fit(x, SIDE) for x in (far, near))
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_bounds_that_cannot_be_right_are_spoken_of() -> None:
    with pytest.warns(UserWarning, match=r"most numbers of 1 of 2 columns lie outside bounds"):
        CrowdClassifier(random_state=0).fit(GRID * (1, 100), SIDE)
    with pytest.warns(UserWarning, match="outside y_bounds"):
        CrowdRegressor(random_state=0).fit(GRID, 100 + GRID[:, 0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": -1}, "epsilon must be positive, found -1"),
        ({"epsilon": 50}, "epsilon of a check-in must lie in"),
        ({"mechanism": "magic"}, "mechanism must be one of direction"),
        ({"model": "ridge"}, "Use softmax or hinge"),
        ({"checkins": 0}, "checkins must be a whole number in 1 … 1, .* found 0"),
        ({"bounds": (1, 0)}, r"bounds must be \(low, high\) with low < high"),
        ({"bounds": 3}, r"bounds must be \(low, high\)"),
        ({"bounds": ([0, 0, 0], 1)}, r"arrays of 2, found"),
    ],
)
def test_wrong_settings_are_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        CrowdClassifier(**settings).fit(GRID, SIDE)


def test_groups_must_fit() -> None:
    with pytest.raises(ValueError, match="groups must have one entry for each of the"):
        CrowdClassifier().fit(GRID, SIDE, groups=PERSON[:-1])


def test_both_have_the_same_settings() -> None:
    one, other = (list(inspect.signature(c).parameters) for c in (CrowdClassifier, CrowdRegressor))
    assert [name for name in other if name != "y_bounds"] == one


# A start

IRIS = load_iris(return_X_y=True)
TWO = IRIS[0][:100], np.array(["b", "a"])[IRIS[1][:100]]


def stay(data: Any, schedule: Any, learning: Any, stops: Any, rng: Any) -> tuple[Array, None]:
    """Learn nothing: w stays at its start."""
    return np.array([learning.start.w]), None


@pytest.mark.parametrize("samples", [IRIS, TWO], ids=["three classes", "two classes"])
def test_a_classifier_starts_where_a_fitted_model_is(
    samples: tuple[Array, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdml.sklearn.crowd.learn", stay)
    x, y = samples
    fitted = LogisticRegression(max_iter=1000).fit(x, y)
    for mechanism in ("direction", "laplace"):
        crowd = CrowdClassifier(start=fitted, bounds=(0, 8), mechanism=mechanism).fit(x, y)
        assert crowd.coef_ == pytest.approx(fitted.coef_)
        assert crowd.intercept_ == pytest.approx(fitted.intercept_)
    bare = LogisticRegression(max_iter=1000, fit_intercept=False).fit(x - 4, y)
    crowd = CrowdClassifier(start=bare, bounds=(-4, 4), fit_intercept=False).fit(x - 4, y)
    assert crowd.coef_ == pytest.approx(bare.coef_)


def test_a_regressor_starts_where_a_fitted_model_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdml.sklearn.crowd.learn", stay)
    x, y = load_diabetes(return_X_y=True)
    fitted = LinearRegression().fit(x, y)
    crowd = CrowdRegressor(start=fitted, bounds=(-0.2, 0.2), y_bounds=(0, 350)).fit(x, y)
    assert crowd.coef_ == pytest.approx(fitted.coef_)
    assert crowd.intercept_ == pytest.approx(fitted.intercept_)


def test_a_crowd_goes_on_from_a_fitted_model() -> None:
    """Start a crowd from a fitted model, also where estimators are cloned."""
    x, y = IRIS
    fitted = FrozenEstimator(LogisticRegression(max_iter=1000).fit(x, y))
    scores = {
        start: cross_val_score(
            CrowdClassifier(4.0, bounds=(0, 8), start=start, random_state=0), x, y
        ).mean()
        for start in (None, fitted)
    }
    assert scores[fitted] > scores[None]


@pytest.mark.parametrize(
    ("samples", "match"),
    [
        (None, "must be a fitted linear model with coef_ and intercept_"),
        (TWO, r"coef_ of the shape \(3, 4\).*found \(1, 4\)"),
        ((IRIS[0], IRIS[1] + 1), "the classes of y"),
        ((IRIS[0][:, :2], IRIS[1]), r"found \(3, 2\)"),
    ],
    ids=["not fitted", "two classes", "other classes", "other features"],
)
def test_a_start_must_fit(samples: tuple[Array, Any] | None, match: str) -> None:
    start = LogisticRegression(max_iter=1000)
    if samples:
        start.fit(*samples)
    with pytest.raises(InvalidInput, match=match):
        CrowdClassifier(start=start, bounds=(0, 8)).fit(*IRIS)


def test_a_start_is_a_model() -> None:
    with pytest.raises(InvalidInput, match="found str"):
        CrowdClassifier(start="model.npz", bounds=(0, 8)).fit(*IRIS)
