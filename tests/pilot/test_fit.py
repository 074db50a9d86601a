import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.models import Hinge, Huber, Model, Ridge, Softmax
from crowdml.pilot import fit_start
from crowdml.privacy import bound_rows
from crowdml.simulation import load_dataset
from crowdml.types import Array, Ints

DIGITS = load_dataset("digits").bounded(2)


def digits(rows: int, seed: int = 0) -> tuple[Array, Array]:
    drawn = np.random.default_rng(seed).permutation(len(DIGITS.y_train))[:rows]
    return DIGITS.x_train[drawn], DIGITS.y_train[drawn]


@pytest.mark.parametrize("kind", [Softmax, Hinge])
def test_the_error_is_for_new_rows(kind: type[Softmax] | type[Hinge]) -> None:
    """Check that the stated error is close to, and slightly above, the error on new rows.

    A fifth of the rows is left out, which makes the error of 200 rows a little larger.
    """
    model = kind(DIGITS.x_train.shape[1], 10)
    true, errors, seen = [], [], []
    for seed in range(1 if kind is Hinge else 2):
        x, y = digits(200, seed)
        fitted = fit_start(model, x, y)
        errors.append(fitted.error)
        true.append(model.mistakes(fitted.w, DIGITS.x_test, DIGITS.y_test).mean())
        seen.append(model.mistakes(fitted.w, x, y).mean())
        binomial = 1.96 * np.sqrt(fitted.error * (1 - fitted.error) / 200)
        assert fitted.error_margin == pytest.approx(binomial, rel=0.02)
    assert np.mean(seen) + 0.03 < np.mean(true) < np.mean(errors) < np.mean(true) + 0.06


def test_a_fit_is_the_same_again_and_nothing_given_is_changed() -> None:
    model, (x, y) = Softmax(DIGITS.x_train.shape[1], 10), digits(100)
    kept = x.copy(), y.copy()
    one, two = fit_start(model, x, y, seed=3), fit_start(model, x, y, seed=3)
    assert np.array_equal(one.w, two.w)
    assert one.distance == two.distance
    assert np.array_equal(x, kept[0])
    assert np.array_equal(y, kept[1])


def test_more_rows_are_surer_of_themselves() -> None:
    model = Ridge(3)
    rng = np.random.default_rng(0)
    x = bound_rows(rng.normal(size=(1600, 3)), 2)
    y = x @ [1.0, -2.0, 0.5] + rng.normal(0, 0.3, 1600)
    distances = [fit_start(model, x[:n], y[:n]).distance for n in (25, 1600)]
    assert 4 < distances[0] / distances[-1] < 24, "the distance falls about as 1/√n"


@pytest.mark.parametrize("model", [Ridge(3, tolerance=30.0), Huber(3, tolerance=30.0, delta=100.0)])
def test_numbers_are_fitted_in_their_own_units(model: Model) -> None:
    rng = np.random.default_rng(0)
    x = bound_rows(rng.normal(size=(300, 3)), 2)
    fitted = fit_start(model, x, x @ [100.0, -200.0, 50.0] + rng.normal(0, 10, 300))
    assert fitted.w == pytest.approx([100, -200, 50], abs=5)
    assert fitted.error < 0.05


def test_intercepts_pay_where_a_label_lies_in_the_middle() -> None:
    rng = np.random.default_rng(0)
    x = bound_rows(rng.normal(0, 0.4, size=(200, 2)), 2)
    y = (np.abs(x[:, 0]) < 0.2) * 1.0 + (x[:, 0] >= 0.2) * 2.0
    without, having = (fit_start(Softmax(2, 3, intercept=each), x, y) for each in (False, True))
    assert having.error < without.error - 0.1
    assert (len(without.w), len(having.w)) == (6, 9)


def test_folds_are_people_where_there_are_five() -> None:
    """Check that a label of only one person cannot be predicted by a model of the others."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(6), 10)
    x = bound_rows(np.eye(6)[person] + rng.normal(0, 0.01, (60, 6)), 2)
    model = Softmax(6, 6)
    assert fit_start(model, x, person.astype(float), person).error > 0.9
    assert fit_start(model, x, person.astype(float)).error == 0
    four = person < 4
    assert fit_start(model, x[four], person[four].astype(float), person[four]).error == 0


def test_the_margin_is_by_people() -> None:
    rng = np.random.default_rng(1)
    person = np.repeat(np.arange(8), 50)
    x = bound_rows(rng.normal(size=(400, 3)), 2)
    y = (x[:, 0] > 0).astype(float)
    y[person < 2] = 1 - y[person < 2]  # two people answer the other way round
    by_people, by_rows = (fit_start(Softmax(3, 2), x, y, who) for who in (person, None))
    assert by_people.error_margin is not None
    assert by_rows.error_margin is not None
    assert by_people.error_margin > 3 * by_rows.error_margin
    alone = person == 0
    assert fit_start(Softmax(3, 2), x[alone], y[alone], person[alone]).error_margin is None


@pytest.mark.parametrize(
    ("x", "y", "people", "match"),
    [
        (np.ones((3, 5)), np.arange(3.0), None, "rows of 2 numbers, found the shape"),
        (np.ones((1, 2)), np.zeros(1), None, "two or more rows"),
        (np.ones((3, 2)), np.zeros(2), None, "one answer"),
        (np.ones((3, 2)), np.arange(3.0), np.zeros(4, np.int64), "one person"),
        (np.full((3, 2), np.nan), np.arange(3.0), None, "found nan"),
        (np.ones((3, 2)), np.zeros(3), None, "found one label"),
    ],
)
def test_bad_pilots(x: Array, y: Array, people: Ints | None, match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        fit_start(Softmax(2, 3), x, y, people)
