"""Learn labels by a simulated crowd."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from crowdml.errors import InvalidInput
from crowdml.sklearn.coefficients import coefficients
from crowdml.sklearn.crowd import CrowdEstimator
from crowdml.types import Array


class CrowdClassifier(ClassifierMixin, CrowdEstimator):  # type: ignore[misc]
    """Classify linearly with a model that a crowd learns, each person from their own rows.

    The crowd is simulated: what real devices would send is drawn from the same law by fast
    pseudo-random numbers, on a machine that has everybody's data. The estimator shows what such a
    crowd would learn at this ε, and what its people would lose. It does not make the model fit for
    release: for that, run a task with real devices, whose randomness is exact and secret.

    The loss of a person counts everything that is learnt from their rows. Public are the number of
    people, their mean number of rows, the bounds and the names of the labels. Nothing else is
    computed from X. A scaler earlier in a pipeline looks at everybody's rows, which a crowd cannot
    do: choose the bounds from public knowledge, or accept that this part is not private.

    Args:
        epsilon: ε: the total loss of a person for `direction`, the loss of each row for
            `gaussian` and `laplace`. inf for no noise.
        mechanism: `direction`, `gaussian` (δ = 10⁻⁶) or `laplace`.
        model: `softmax` or `hinge`.
        checkins: K, the number of check-ins that share a person's rows.
        bounds: (low, high) of the features, as two numbers or two arrays, known without looking
            at X. Numbers beyond are cut off. The default suits standardised features.
        regularization: λ.
        fit_intercept: Whether scores have intercepts.
        start: A fitted linear model with `coef_` and `intercept_`, in the units of X, from which
            the crowd goes on; its data are not protected. The crowd goes as far from it as from
            zero. Wrap it in `sklearn.frozen.FrozenEstimator` where estimators are cloned, as in
            cross-validation. By default, zero.
        random_state: The seed of the simulated randomness.

    After `fit` there are:

    - `classes_`, `n_features_in_`, `feature_names_in_` as usual;
    - `coef_` and `intercept_`, for x that is cut to the bounds and, in the few rows that are too
      long, moved towards their middle; one row for two classes, otherwise one row per class;
    - `epsilon_`: the largest total loss of any person, at `delta_`;
      `epsilon_per_sample_`: the loss of a row;
    - `n_people_`, `n_checkins_`.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> crowd = CrowdClassifier(epsilon=10, bounds=(0, 8), random_state=0).fit(X, y)
    >>> crowd.epsilon_, crowd.n_people_, crowd.coef_.shape
    (10.0, 150, (3, 4))
    """

    def fit(self, X: Any, y: Any, groups: Any = None) -> "CrowdClassifier":
        """Learn from rows of people.

        Args:
            X: Features, a row for each sample.
            y: Labels.
            groups: The person of each row. Without `groups` each row is another person: then ε
                protects one row, and a person with n rows loses n·ε.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"labels must be of 2 classes or more, found 1 class, {self.classes_[0]!r}."
            )
        start = None
        if self.start is not None:
            start = coefficients(self.start, self.classes_, self.n_features_in_)
        labels = tuple(map(str, self.classes_))
        coef, intercept = self._learn(X, numbers.astype(np.float64), labels, groups, start)
        if len(self.classes_) == 2:
            coef, intercept = np.diff(coef, axis=0), np.diff(intercept)
        self.coef_, self.intercept_ = coef, intercept
        return self

    def decision_function(self, X: Any) -> Array:
        """Compute one score for each class; for two classes, the second score minus the first."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the label with the highest score."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[best]
        return labels

    @available_if(lambda self: self.model == "softmax")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the labels; a support vector machine has none."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.stack([np.zeros(len(scores)), scores], axis=1)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        share: Array = odds / odds.sum(axis=1, keepdims=True)
        return share

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A few hundred people cannot teach as much as all their rows in one place.
        tags.classifier_tags.poor_score = self.epsilon != math.inf
        return tags
