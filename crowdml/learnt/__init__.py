"""Store and use the model that was learnt: as a file, and as an estimator.

The server writes these files; `crowdml predict`, devices and people's own programs read them. This
package knows neither server nor device, so that a model can be used without them.
"""

from crowdml.learnt.estimator import (
    LearntClassifier,
    LearntModel,
    LearntRegressor,
    LearntSoftmax,
    make_estimator,
)
from crowdml.learnt.file import MODEL_FORMATS, read_model, write_model
from crowdml.learnt.model_description import ModelDescription
from crowdml.learnt.start_file import read_start, start_from_model, write_start

__all__ = [
    "MODEL_FORMATS",
    "LearntClassifier",
    "LearntModel",
    "LearntRegressor",
    "LearntSoftmax",
    "ModelDescription",
    "make_estimator",
    "read_model",
    "read_start",
    "start_from_model",
    "write_model",
    "write_start",
]
