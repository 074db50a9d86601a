"""A simulated crowd as estimators of scikit-learn: `fit(X, y, groups=person)`."""

from crowdml.sklearn.classifier import CrowdClassifier
from crowdml.sklearn.regressor import CrowdRegressor

__all__ = ["CrowdClassifier", "CrowdRegressor"]
