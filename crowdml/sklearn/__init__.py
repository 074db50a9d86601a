"""Simulate a crowd as an estimator of scikit-learn: `fit(X, y, groups=person)`.

People's own programs call this package. It translates its settings for `crowdml.simulation`, which
runs the crowd; nothing here learns by itself.
"""

from crowdml.sklearn.classifier import CrowdClassifier
from crowdml.sklearn.regressor import CrowdRegressor

__all__ = ["CrowdClassifier", "CrowdRegressor"]
