"""Use the model as an estimator with the names of scikit-learn."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput
from crowdml.learnt.model_description import ModelDescription
from crowdml.models import MODELS, Softmax
from crowdml.privacy import bound_rows
from crowdml.protocol import Readings
from crowdml.tables import check_columns, quoted
from crowdml.types import Array

Names = npt.NDArray[np.str_]
ReadingRows: TypeAlias = Readings | Sequence[Readings]
"""Rows of readings; a data frame is an array whose columns have names."""


class LearntModel:
    """Predict as the task's devices do, from features as the task has them.

    Works in scikit-learn's pipelines and scorers, and does not need scikit-learn. Fitting changes
    nothing, since what it knows was learnt elsewhere.

    Args:
        about: The origin of the model, and how its features are read.
        weights: K×D, a row for each label, or one.
        intercepts: K; zeros for a model without.

    Attributes:
        n_features_in_: D.
        feature_names_in_: The features' names, x0, x1, … where the task has none.
    """

    def __init__(self, about: ModelDescription, weights: Array, intercepts: Array) -> None:
        if about.kind not in MODELS:
            kinds = ", ".join(MODELS)
            raise InvalidInput(f"a model's kind must be {kinds}, found {about.kind!r}.")
        d, k = len(about.names), max(len(about.labels), 1)
        shapes = np.shape(weights), np.shape(intercepts)
        finite = np.isfinite(weights).all() and np.isfinite(intercepts).all()
        if shapes != ((k, d), (k,)) or not finite:
            raise InvalidInput(
                f"a model of {d} features and {len(about.labels)} labels must have {k}×{d} finite "
                f"weights and {k} intercepts, found the shapes {shapes[0]} and {shapes[1]}"
                f"{'' if finite else ', with numbers that are not finite'}."
            )
        constants = {len(about.center), len(about.scale)} - {0}
        if constants - {d} or any(not scale > 0 for scale in about.scale):
            raise InvalidInput(
                f"a model of {d} features must have a center and a scale above 0 for each of them, "
                f"or none, found {len(about.center)} and {len(about.scale)}."
            )
        self.about = about
        self._readings = about.readings
        self.weights, self.intercepts = weights, intercepts
        self.n_features_in_ = d
        self.feature_names_in_ = np.array(about.names, dtype=object)
        self._model = MODELS[about.kind].model(d, len(about.labels), intercept=True)
        self._w = np.concatenate([weights.ravel(), intercepts])

    def __repr__(self) -> str:
        about = self.about
        return (
            f"{type(self).__name__}(task={about.task!r}, version={about.version}, "
            f"mechanism={about.mechanism!r}, epsilon={about.epsilon}, unit={about.unit!r})"
        )

    def bounded(self, X: ReadingRows) -> Array:  # noqa: N803
        """Return the rows as devices see them: readings scaled, rows longer than 1 rescaled to 1.

        Args:
            X: Readings in their own units: a table with a column for each name, in any order, or an
                array in the order of the names; a mapping of names to readings, or a list of them.
        """
        try:
            rows = np.asarray(self._in_order(X), dtype=np.float64)
        except InvalidInput:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"X must be a table of numbers: {error}.") from error
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            raise InvalidInput(
                f"X must be a table with {self.n_features_in_} numbers in each row, "
                f"found the shape {rows.shape}."
            )
        strange = ~(np.isfinite(rows) | self._may_be_missing(rows)).all(axis=1)
        if strange.any():
            raise InvalidInput(
                f"X must be finite numbers, found nan or inf in row {strange.argmax()} (of "
                f"{strange.sum()} such rows). Drop them, or fill them in."
            )
        return bound_rows(self._readings.scaled_rows(rows), self.about.norm)

    def _may_be_missing(self, rows: Array) -> Any:
        return np.isnan(rows) & (self.about.missing == "center")

    def _in_order(self, X: Any) -> Any:  # noqa: N803
        """Return the columns in the order of the task's names."""
        columns, names = list(getattr(X, "columns", ())), self.about.names
        if columns and (self.about.named or set(names).issubset(columns)):
            wrong = check_columns(names, columns)
            if wrong:
                raise InvalidInput(f"X must have the columns of the task: {wrong}")
            return X[list(names)]
        rows = [X] if isinstance(X, Mapping) else X
        if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows):
            return [self._readings.values(row, extra=True) for row in rows]
        return X

    def predict(self, X: ReadingRows) -> Any:  # noqa: N803
        """Predict one number for each row."""
        return self._model.predict(self._w, self.bounded(X))

    def _check_length(self, X: ReadingRows, y: npt.NDArray[Any]) -> None:  # noqa: N803
        rows = len(self.bounded(X))
        if y.shape != (rows,) or not rows:
            raise InvalidInput(
                f"y must have one answer for each of the {rows} rows, found the shape {y.shape}."
            )

    # What scikit-learn asks of its estimators

    def fit(self, X: object = None, y: object = None) -> Self:  # noqa: N803
        """Return the model unchanged: a crowd has learnt it."""
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return an empty dict: the model has nothing to tune."""
        return {}

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        kind = "classifier" if self.about.labels else "regressor"
        return Tags(
            estimator_type=kind, target_tags=TargetTags(required=False), input_tags=InputTags()
        )


class LearntRegressor(LearntModel):
    """Predict a number."""

    def score(self, X: ReadingRows, y: npt.ArrayLike) -> float:  # noqa: N803
        """Compute R², the explained share of y's variance."""
        try:
            target = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"y must be numbers: {error}.") from error
        self._check_length(X, target)
        wrong = ((target - self.predict(X)) ** 2).sum()
        return float(1 - wrong / ((target - target.mean()) ** 2).sum())


class LearntClassifier(LearntModel):
    """Predict a label by its name.

    Attributes:
        classes_: The labels' names, sorted as scikit-learn expects it; columns are in their order.
    """

    def __init__(self, about: ModelDescription, weights: Array, intercepts: Array) -> None:
        super().__init__(about, weights, intercepts)
        self._labels = np.array(about.labels)
        self._order = np.argsort(self._labels)
        self.classes_: Names = self._labels[self._order]

    def predict(self, X: ReadingRows) -> Names:  # noqa: N803
        """Predict the name of a label for each row."""
        best: Names = self._labels[super().predict(X).astype(int)]
        return best

    def decision_function(self, X: ReadingRows) -> Array:  # noqa: N803
        """Compute the scores of each row, n×C; for two labels the second minus the first, n."""
        s = self._scores(X)
        return s[:, 1] - s[:, 0] if s.shape[1] == 2 else s

    def score(self, X: ReadingRows, y: npt.ArrayLike) -> float:  # noqa: N803
        """Compute the share of rows whose label is predicted."""
        names = np.asarray(y)
        known = names.dtype.kind != "O" or all(isinstance(n, str | int) for n in names.ravel())
        if names.dtype.kind not in "USOiu" or not known:
            raise InvalidInput(
                f"y must be the names of labels, found {quoted(names.ravel()[:1].tolist())}. "
                "Labels are matched as text: 1 is a name, and 1.0 is none."
            )
        self._check_length(X, names)
        return float((self.predict(X) == names.astype(str)).mean())

    def _scores(self, X: ReadingRows) -> Array:  # noqa: N803
        s: Array = self.bounded(X) @ self.weights.T + self.intercepts
        return s[:, self._order]


class LearntSoftmax(LearntClassifier):
    """Predict a label, and how likely each label is."""

    def predict_proba(self, X: ReadingRows) -> Array:  # noqa: N803
        """Compute the probability of each label, n×C."""
        return Softmax.probabilities(self._scores(X))


def make_estimator(about: ModelDescription, weights: Array, intercepts: Array) -> LearntModel:
    """Make the estimator that suits the kind of model and its labels."""
    classifier = LearntSoftmax if about.kind == "softmax" else LearntClassifier
    return (classifier if about.labels else LearntRegressor)(about, weights, intercepts)
