"""Run scikit-learn's own checks of estimators."""

import pytest

# Several checks feed features or targets that lie outside the default bounds, and say so.
pytestmark = pytest.mark.filterwarnings("ignore:most numbers of:UserWarning")


@pytest.mark.parametrize("name", ["CrowdClassifier", "CrowdRegressor"])
def test_it_is_an_estimator(name: str) -> None:
    """Run all checks that scikit-learn has for an estimator, without an exception."""
    from sklearn.utils.estimator_checks import check_estimator

    from crowdml import sklearn

    done = check_estimator(getattr(sklearn, name)(), on_skip=None, on_fail="raise")
    assert len(done) > 40
    assert {each["check_name"] for each in done if each["status"] != "passed"} <= {
        "check_array_api_input"
    }


def test_without_noise_even_the_score_is_good() -> None:
    """Check the score without noise; with noise, a few hundred rows teach less, as the tags say."""
    from sklearn.utils.estimator_checks import check_classifiers_train, check_regressors_train

    from crowdml.sklearn import CrowdClassifier, CrowdRegressor

    check_classifiers_train("CrowdClassifier", CrowdClassifier(epsilon=float("inf")))
    check_regressors_train("CrowdRegressor", CrowdRegressor(epsilon=float("inf")))
