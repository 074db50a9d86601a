"""Define what is learnt: prediction, loss, the gradient of one sample, and its bounds."""

from crowdml.models.clipping import clip_factors, clipped_mean
from crowdml.models.hinge import Hinge
from crowdml.models.kinds import MODELS, ModelKind
from crowdml.models.linear import LinearModel
from crowdml.models.minibatch import Minibatch
from crowdml.models.model import Model
from crowdml.models.regression import Huber, Ridge
from crowdml.models.softmax import Softmax

__all__ = [
    "MODELS",
    "Hinge",
    "Huber",
    "LinearModel",
    "Minibatch",
    "Model",
    "ModelKind",
    "Ridge",
    "Softmax",
    "clip_factors",
    "clipped_mean",
]
