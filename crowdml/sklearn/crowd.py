"""Assign rows to people who learn as a simulated crowd: the code that both estimators share."""

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from crowdml.errors import InvalidInput
from crowdml.models import MODELS
from crowdml.protocol import MECHANISMS
from crowdml.simulation import (
    Dataset,
    Learning,
    LearningSetup,
    StartPoint,
    epsilons_spent,
    learn,
    person_by_person,
)
from crowdml.sklearn.bounds import Bounds
from crowdml.types import Array, Ints


@dataclass(eq=False, repr=False)  # scikit-learn has its own notation for estimators
class CrowdEstimator(BaseEstimator):  # type: ignore[misc]
    """Hold the settings, and let a crowd learn with them."""

    epsilon: float = 4.0
    mechanism: str = "direction"
    model: str = "softmax"
    checkins: int = 1
    bounds: Any = (-3.0, 3.0)
    regularization: float = 0.0
    fit_intercept: bool = True
    start: Any = None
    random_state: Any = None

    def _learn(
        self,
        X: Array,
        y: Array,
        labels: tuple[str, ...],
        groups: Any,
        start: tuple[Array, Array] | None,
    ) -> tuple[Array, Array]:
        """Learn; return parameters in the units of X and `start`, and the statistics of the run."""
        people = _people(groups, X)
        self._check_settings(int(np.bincount(people).max()))
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        learning = Learning(
            mechanism=self.mechanism,
            epsilon=self.epsilon,
            model=self.model,
            regularization=self.regularization,
            intercept=self.fit_intercept,
            scale=None if labels else 1.0,
        )
        bounds, norm = self._bounds, MECHANISMS[self.mechanism].terms.norm
        if start is not None:
            learning = replace(learning, start=self._start_point(*start, bounds, norm))
        bounds.warn(X, "bounds")
        x = bounds.rows(X, norm)
        data = Dataset("X", labels, x, y, people, x[:0], y[:0])
        schedule = person_by_person(data.person, self.checkins, rng)
        w, _ = learn(data, schedule, learning, np.array([schedule.n_checkins]), rng)
        stand_in = LearningSetup.of(learning, data, schedule).stand_in
        self.epsilon_per_sample_, _, self.epsilon_ = epsilons_spent(schedule, stand_in)
        self.delta_ = stand_in.losses(1)[0].delta
        self.n_checkins_ = schedule.n_checkins
        self.n_people_ = len(np.unique(data.person))
        return self._in_units_of_x(w[0], bounds, norm)

    def _check_settings(self, most_rows: int) -> None:
        for name in ("epsilon", "regularization"):
            value = getattr(self, name)
            if not isinstance(value, Real) or isinstance(value, bool):
                raise InvalidInput(f"{name} must be a number, found {value!r}.")
        if not isinstance(self.fit_intercept, bool | np.bool_):
            found = self.fit_intercept
            raise InvalidInput(f"fit_intercept must be True or False, found {found!r}.")
        for name, known in (("mechanism", MECHANISMS), ("model", MODELS)):
            if getattr(self, name) not in tuple(known):
                found = getattr(self, name)
                raise InvalidInput(f"{name} must be one of {', '.join(known)}, found {found!r}.")
        whole = isinstance(self.checkins, Integral) and not isinstance(self.checkins, bool)
        if not (whole and 1 <= self.checkins <= most_rows):
            raise InvalidInput(
                f"checkins must be a whole number in 1 … {most_rows}, the rows of the person who "
                f"has most, found {self.checkins!r}. Say in groups whose each row is."
            )

    def _in_units_of_x(self, w: Array, bounds: Bounds, norm: int) -> tuple[Array, Array]:
        """Return coef and intercept of the scores coef·x + intercept, a row for each of K."""
        n_scores = len(w) // (self.n_features_in_ + bool(self.fit_intercept))
        split = n_scores * self.n_features_in_
        coef = w[:split].reshape(n_scores, -1) / bounds.reach(norm)
        return coef, (w[split:] if self.fit_intercept else 0.0) - coef @ bounds.middle

    def _start_point(self, coef: Array, intercept: Array, bounds: Bounds, norm: int) -> StartPoint:
        """Invert `_in_units_of_x`; without `fit_intercept`, leave intercepts out."""
        parts = [np.ravel(coef * bounds.reach(norm))]
        if self.fit_intercept:
            parts.append(intercept + coef @ bounds.middle)
        return StartPoint(tuple(np.concatenate(parts).tolist()))

    @property
    def _bounds(self) -> Bounds:
        return Bounds.of(self.bounds, self.n_features_in_, "bounds")

    def _scores(self, X: Any) -> Array:
        """Compute coef_·x + intercept_ of x as devices see it: cut off, rescaled where too long."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        bounds, norm = self._bounds, MECHANISMS[self.mechanism].terms.norm
        seen = bounds.middle + bounds.rows(X, norm) * bounds.reach(norm)
        scores: Array = seen @ np.atleast_2d(self.coef_).T + self.intercept_
        return scores


def _people(groups: Any, X: Array) -> Ints:
    """Number the person of each row in the order of names; by default each row is one person."""
    if groups is None:
        return np.arange(len(X))
    groups = np.asarray(groups)
    if groups.shape not in ((len(X),), (len(X), 1)):
        raise InvalidInput(
            f"groups must have one entry for each of the {len(X)} rows, found the shape "
            f"{groups.shape}."
        )
    groups = groups.ravel()
    if any(name is None or name != name for name in groups.tolist()):
        raise InvalidInput("groups must say whose each row is, found nan or None.")
    try:
        numbers: Ints = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise InvalidInput(f"groups must be texts or numbers: {error}.") from error
    return numbers
