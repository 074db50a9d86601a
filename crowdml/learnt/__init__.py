"""The model that was learnt, as a file and as an estimator: all the way from features to answer."""

from crowdml.learnt.about import About
from crowdml.learnt.estimator import (
    LearntClassifier,
    LearntModel,
    LearntRegressor,
    LearntSoftmax,
    estimator,
)
from crowdml.learnt.file import FORMATS, read_model, write_model

__all__ = [
    "FORMATS",
    "About",
    "LearntClassifier",
    "LearntModel",
    "LearntRegressor",
    "LearntSoftmax",
    "estimator",
    "read_model",
    "write_model",
]
