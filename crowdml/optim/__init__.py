"""How the server steps: optimizers as (init, update) pairs."""

from crowdml.optim.adagrad import adagrad
from crowdml.optim.average_gradient import average_gradient
from crowdml.optim.averaging import averaged
from crowdml.optim.dual_averaging import dual_averaging
from crowdml.optim.kinds import OPTIMIZERS, RATES, OptimizerKind, RateKind, make_optimizer
from crowdml.optim.optimizer import Optimizer, State
from crowdml.optim.projection import project
from crowdml.optim.rates import Rate, audible, constant, inverse, inverse_sqrt, planned_rate
from crowdml.optim.sgd import sgd
from crowdml.optim.usual_length import UsualLength

__all__ = [
    "OPTIMIZERS",
    "RATES",
    "Optimizer",
    "OptimizerKind",
    "Rate",
    "RateKind",
    "State",
    "UsualLength",
    "adagrad",
    "audible",
    "average_gradient",
    "averaged",
    "constant",
    "dual_averaging",
    "inverse",
    "inverse_sqrt",
    "make_optimizer",
    "planned_rate",
    "project",
    "sgd",
]
