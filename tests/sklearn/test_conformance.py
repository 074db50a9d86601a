"""scikit-learn's own checks of estimators."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import (
    check_classifiers_train,
    check_regressors_train,
    parametrize_with_checks,
)

from crowdml.sklearn import CrowdClassifier, CrowdRegressor

# Several checks feed features or targets that lie outside the default bounds, and say so.
pytestmark = pytest.mark.filterwarnings("ignore:most numbers of:UserWarning")


@parametrize_with_checks([CrowdClassifier(), CrowdRegressor()])  # type: ignore[untyped-decorator]
def test_it_is_an_estimator(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        (CrowdClassifier(epsilon=float("inf")), check_classifiers_train),
        (CrowdRegressor(epsilon=float("inf")), check_regressors_train),
    ],
)
def test_without_noise_even_the_score_is_good(
    estimator: Any, check: Callable[[str, Any], None]
) -> None:
    """With noise, a few hundred rows teach less, and the estimators' tags say so."""
    check(type(estimator).__name__, estimator)
