"""Fit a start to a pilot: w₀, how sure it is of itself, and how well it predicts alone."""

import math
from dataclasses import dataclass

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.models import Model
from crowdml.pilot.minimize import minimize
from crowdml.types import Array, Flags, Ints

REGULARIZATIONS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4)
"""λ for rows of length 1; for shorter rows λ shrinks with the mean square of their lengths."""

FOLDS, REFITS = 5, 5

STUDENT_97_5 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""Student's 97.5 % quantile for 1 … 10 degrees of freedom."""


@dataclass(frozen=True)
class PilotFit:
    """Hold what a pilot's rows show.

    Args:
        w: w₀, the minimiser of the mean loss plus λ/2·‖w‖².
        regularization: λ, which cross-validation chose.
        distance: d_boot, the mean of ‖w_r − w₀‖ over refits on rows drawn with replacement.
        error: The cross-validated error of the pilot alone.
        error_margin: Half of the error's 95 % interval, by people where they are known; None for
            one person, whose rows cannot say how others differ.
    """

    w: Array
    regularization: float
    distance: float
    error: float
    error_margin: float | None


def fit_start(
    model: Model, x: Array, y: Array, people: Ints | None = None, *, seed: int = 0
) -> PilotFit:
    """Fit a start to n pilot rows.

    Five-fold cross-validation of the loss chooses λ; folds are whole people where there are at
    least five, and otherwise rows.

    Args:
        model: What is learnt.
        x: n×D features, scaled and bounded as devices do it.
        y: n class numbers or real targets.
        people: The person of each row; None where that is not known.
        seed: The seed of the folds and of the refits.

    >>> from crowdml.models import Softmax
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0]] * 20)
    >>> fitted = fit_start(Softmax(2, 2), x, np.array([0, 1] * 20))
    >>> fitted.error, fitted.w.round(1)
    (0.0, array([ 3.1, -3.1, -3.1,  3.1]))
    """
    _check(model, x, y, people)
    rng = np.random.default_rng(seed)
    choices = [each * float(np.square(x).sum(axis=1).mean()) for each in REGULARIZATIONS]
    # Do not start at zero or at another fit: the hinge loss has corners there, where a search gets
    # stuck.
    apart = rng.normal(0, 0.1, model.size)
    folds = choose_folds(y, people, model, rng)
    losses, mistakes = _cross_validate(model, x, y, folds, choices, apart)
    # Choose by the loss, because with few rows many λ have the same number of mistakes.
    best = int(losses.mean(axis=1).argmin())
    w = _fit(model, x, y, choices[best], apart)
    draws = (rng.integers(0, len(x), len(x)) for _ in range(REFITS))
    refits = [_fit(model, x[rows], y[rows], choices[best], w + apart) for rows in draws]
    return PilotFit(
        w,
        choices[best],
        float(np.mean([np.linalg.norm(refit - w) for refit in refits])),
        float(mistakes[best].mean()),
        _margin(mistakes[best], people),
    )


def _check(model: Model, x: Array, y: Array, people: Ints | None) -> None:
    if x.ndim != 2 or x.shape[1] != model.n_features or len(x) < 2:
        raise InvalidInput(
            f"a pilot must be two or more rows of {model.n_features} numbers, found the shape "
            f"{x.shape}."
        )
    if np.shape(y) != (len(x),) or (people is not None and np.shape(people) != (len(x),)):
        raise InvalidInput(f"a pilot's {len(x)} rows must have one answer and one person each.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InvalidInput("a pilot must be finite numbers, found nan or inf. Drop those rows.")
    if model.n_classes and len(np.unique(y)) < 2:
        raise InvalidInput("a pilot must have rows of two or more labels, found one label.")


def _fit(model: Model, x: Array, y: Array, regularization: float, start: Array) -> Array:
    def risk(w: Array) -> tuple[float, Array]:
        value = model.losses(w, x, y).mean() + regularization / 2 * (w @ w)
        return float(value), model.mean_gradient(w, x, y, math.inf) + regularization * w

    return minimize(risk, start)


def choose_folds(y: Array, people: Ints | None, model: Model, rng: np.random.Generator) -> Ints:
    """Choose the fold of each row, 0 … 4; with enough people a person's rows share a fold."""
    names, person = np.unique(np.zeros(len(y)) if people is None else people, return_inverse=True)
    if len(names) >= FOLDS:
        fold_of_person = rng.permutation(len(names)) % FOLDS
        return np.asarray(fold_of_person[person], np.int64)
    order = rng.permutation(len(y))
    if model.n_classes:
        order = order[np.argsort(y[order], kind="stable")]
    folds = np.empty(len(y), np.int64)
    folds[order] = np.arange(len(y)) % FOLDS
    return folds


def _cross_validate(
    model: Model, x: Array, y: Array, folds: Ints, choices: list[float], apart: Array
) -> tuple[Array, Flags]:
    """Compute each row's loss and mistake under each λ, by models that did not see the row."""
    losses, mistakes = np.zeros((len(choices), len(y))), np.zeros((len(choices), len(y)), np.bool_)
    for fold in np.unique(folds):
        seen, left = folds != fold, folds == fold
        w = np.zeros(model.size)
        for number, regularization in enumerate(choices):
            w = _fit(model, x[seen], y[seen], regularization, w + apart)
            losses[number, left] = model.losses(w, x[left], y[left])
            mistakes[number, left] = model.mistakes(w, x[left], y[left])
    return losses, mistakes


def _margin(mistakes: Flags, people: Ints | None) -> float | None:
    """Return half of a 95 % interval, by people, because rows of one person are alike.

    It is at least 3/n: where no mistake was seen among n rows, there may still be some.
    """
    n, names = len(mistakes), np.arange(len(mistakes)) if people is None else people
    _, person = np.unique(names, return_inverse=True)
    excess = np.bincount(person, weights=mistakes - mistakes.mean())
    free = len(excess) - 1
    if free == 0:
        return None
    student = STUDENT_97_5[free - 1] if free <= len(STUDENT_97_5) else 1.96 + 2.5 / free
    deviation = math.sqrt((free + 1) / free * float(excess @ excess)) / n
    return min(1.0, max(student * deviation, 3 / n))
