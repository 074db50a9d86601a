"""Learn a number by a simulated crowd."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from crowdml.sklearn.bounds import Bounds
from crowdml.sklearn.coefficients import coefficients
from crowdml.sklearn.crowd import CrowdEstimator
from crowdml.types import Array


@dataclass(eq=False, repr=False)  # scikit-learn has its own notation for estimators
class CrowdRegressor(RegressorMixin, CrowdEstimator):  # type: ignore[misc]
    """Predict a number linearly with a model that a crowd learns, each person from their own rows.

    The crowd is simulated, with the limits that `CrowdClassifier` describes: fast pseudo-random
    numbers replace exact randomness, so the model is for studying a crowd and not for release.
    Only check-ins are computed from y: `y_bounds` take the place of labels.

    Args:
        epsilon: ε: the total loss of a person for `direction`, the loss of each row for
            `gaussian` and `laplace`. inf for no noise.
        mechanism: `direction`, `gaussian` (δ = 10⁻⁶) or `laplace`.
        model: `huber`, which is robust to outliers, or `ridge`.
        checkins: K, the number of check-ins that share a person's rows.
        bounds: (low, high) of the features, as two numbers or two arrays, known without looking
            at X. Numbers beyond are cut off. The default suits standardised features.
        regularization: λ.
        fit_intercept: Whether there is an intercept.
        start: A fitted linear model with `coef_` and `intercept_`, in the units of X, from which
            the crowd goes on; its data are not protected. The crowd goes as far from it as from
            zero. Wrap it in `sklearn.frozen.FrozenEstimator` where estimators are cloned, as in
            cross-validation. By default, zero.
        random_state: The seed of the simulated randomness.
        y_bounds: (low, high) of y, like the bounds.

    After `fit` there are `coef_`, `intercept_`, `n_features_in_`, and `epsilon_`, `delta_`,
    `epsilon_per_sample_`, `n_people_`, `n_checkins_` as `CrowdClassifier` has them.

    >>> X = np.random.default_rng(0).uniform(size=(500, 1))
    >>> crowd = CrowdRegressor(epsilon=10, bounds=(0, 1), y_bounds=(0, 10), random_state=0)
    >>> round(crowd.fit(X, 10 * X[:, 0]).score(X, 10 * X[:, 0]), 1)
    1.0
    """

    model: str = "huber"
    y_bounds: Any = (-3.0, 3.0)

    def fit(self, X: Any, y: Any, groups: Any = None) -> "CrowdRegressor":
        """Learn from rows of people.

        Args:
            X: Features, a row for each sample.
            y: Numbers.
            groups: The person of each row. Without `groups` each row is another person: then ε
                protects one row, and a person with n rows loses n·ε.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        bounds = Bounds.of(self.y_bounds, 1, "y_bounds")
        bounds.warn(y[:, None], "y_bounds")
        sizes = (bounds.cut(y) - bounds.middle) / bounds.unit
        start = None
        if self.start is not None:
            coef, intercept = coefficients(self.start, None, self.n_features_in_)
            start = coef / bounds.unit, (intercept - bounds.middle) / bounds.unit
        coef, intercept = self._learn(X, sizes, (), groups, start)
        self.coef_ = coef[0] * bounds.unit
        self.intercept_ = float((intercept * bounds.unit + bounds.middle)[0])
        return self

    def predict(self, X: Any) -> Array:
        return self._scores(X)[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A few hundred people cannot teach as much as all their rows in one place.
        tags.regressor_tags.poor_score = not math.isinf(self.epsilon)
        return tags
