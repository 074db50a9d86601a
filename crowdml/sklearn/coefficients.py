"""Use a fitted linear model of scikit-learn as the start of a crowd."""

from typing import Any

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput
from crowdml.types import Array


def coefficients(
    start: Any, classes: npt.NDArray[Any] | None, n_features: int
) -> tuple[Array, Array]:
    """Return coef (K×D) and intercept (K) of a fitted linear model.

    A binary classifier has one row, for the second class against the first. The second class gets
    half of that row, and the first class the other half with its sign changed.
    """
    try:
        coef = np.atleast_2d(np.asarray(start.coef_, dtype=np.float64))
        intercept = np.broadcast_to(np.asarray(start.intercept_, np.float64), len(coef))
    except (AttributeError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"start must be a fitted linear model with coef_ and intercept_, found "
            f"{type(start).__name__}: {error}. Fit it first; where estimators are cloned, wrap it "
            "in sklearn.frozen.FrozenEstimator."
        ) from error
    if classes is not None and len(classes) == 2 and len(coef) == 1:
        coef, intercept = (np.concatenate([-each, each]) / 2 for each in (coef, intercept))
    expected = (1 if classes is None else len(classes), n_features)
    if coef.shape != expected or not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise InvalidInput(
            f"start must have finite coef_ of the shape {expected}, as the crowd's model, found "
            f"{coef.shape}."
        )
    theirs: Any = getattr(start, "classes_", classes)
    if classes is not None and not np.array_equal(theirs, classes):
        raise InvalidInput(
            f"start must have the classes of y, {list(classes)}, found {list(theirs)}."
        )
    return coef, intercept
