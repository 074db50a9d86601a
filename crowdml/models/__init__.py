"""Define what is learnt: prediction, loss, the gradient of one sample, and its bounds.

Device, server and simulator make a model by its name in `MODELS`. Noise is scaled to `slope_bound`,
so a change to a slope or to its bound needs a proof in the docstring, and `check_model`. The models
of the browser and of the one-file device must follow.
"""

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
