"""Define how the server steps: optimizers as pure (init, update) pairs.

The server's fold and the simulator make an optimizer by its name in `OPTIMIZERS`; devices never
need one. The state of an optimizer is stored in snapshots, so a change to its arrays must still
read older snapshots.
"""

from crowdml.optim.adagrad import adagrad
from crowdml.optim.average_gradient import average_gradient
from crowdml.optim.averaging import averaged
from crowdml.optim.dual_averaging import dual_averaging
from crowdml.optim.kinds import OPTIMIZERS, RATES, make_optimizer
from crowdml.optim.optimizer import Optimizer, OptimizerState, read_state
from crowdml.optim.projection import project
from crowdml.optim.rates import (
    Rate,
    constant,
    inverse,
    inverse_sqrt,
    pilot_reach,
    planned_rate,
    signal_ratio,
)
from crowdml.optim.sgd import sgd

__all__ = [
    "OPTIMIZERS",
    "RATES",
    "Optimizer",
    "OptimizerState",
    "Rate",
    "adagrad",
    "average_gradient",
    "averaged",
    "constant",
    "dual_averaging",
    "inverse",
    "inverse_sqrt",
    "make_optimizer",
    "pilot_reach",
    "planned_rate",
    "project",
    "read_state",
    "sgd",
    "signal_ratio",
]
