"""Simulate a crowd as an estimator of scikit-learn: `fit(X, y, groups=person)`."""

from crowdml.sklearn.classifier import CrowdClassifier
from crowdml.sklearn.regressor import CrowdRegressor

__all__ = ["CrowdClassifier", "CrowdRegressor"]
