"""Store and use the model that was learnt: as a file, and as an estimator."""

from crowdml.learnt.about import About
from crowdml.learnt.estimator import (
    LearntClassifier,
    LearntModel,
    LearntRegressor,
    LearntSoftmax,
    estimator,
)
from crowdml.learnt.file import FORMATS, read_model, write_model
from crowdml.learnt.start import Start, read_start, start_of, write_start

__all__ = [
    "FORMATS",
    "About",
    "LearntClassifier",
    "LearntModel",
    "LearntRegressor",
    "LearntSoftmax",
    "Start",
    "estimator",
    "read_model",
    "read_start",
    "start_of",
    "write_model",
    "write_start",
]
