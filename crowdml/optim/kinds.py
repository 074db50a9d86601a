"""List the kinds of optimizers and of learning rates that a task can name."""

from collections.abc import Callable
from typing import NamedTuple

from crowdml.optim.adagrad import adagrad
from crowdml.optim.average_gradient import average_gradient
from crowdml.optim.averaging import averaged
from crowdml.optim.dual_averaging import dual_averaging
from crowdml.optim.optimizer import Optimizer
from crowdml.optim.rates import Rate, constant, inverse, inverse_sqrt
from crowdml.optim.sgd import sgd


class RateKind(NamedTuple):
    """Describe a learning rate: `make(c)` returns η(t)."""

    make: Callable[[float], Rate]
    words: str


class OptimizerKind(NamedTuple):
    """Describe a kind of optimizer.

    Args:
        make: `make(rate, c, radius)` returns the optimizer, from the rate or from c alone.
        words: A description for people who read a task.
        has_rate: Whether the optimizer uses the rate; otherwise it uses c alone.
    """

    make: Callable[[Rate, float, float], Optimizer]
    words: str
    has_rate: bool = False


RATES = {
    "planned": RateKind(constant, "a constant, planned from what is known before the start"),
    "sqrt": RateKind(inverse_sqrt, "c/√t"),
    "constant": RateKind(constant, "c"),
    "inverse": RateKind(inverse, "c/t"),
}

OPTIMIZERS = {
    "sgd": OptimizerKind(
        lambda rate, c, radius: sgd(rate, radius),
        "stochastic gradient descent, one step per check-in",
        has_rate=True,
    ),
    "adagrad": OptimizerKind(
        lambda rate, c, radius: adagrad(c, radius),
        "AdaGrad: one step per check-in, each parameter with its own pace",
    ),
    "dual-averaging": OptimizerKind(
        lambda rate, c, radius: dual_averaging(c, radius), "dual averaging of all check-ins so far"
    ),
    "average-gradient": OptimizerKind(
        lambda rate, c, radius: average_gradient(rate, radius),
        "an average of the newest gradient of every device",
        has_rate=True,
    ),
}


def make_optimizer(
    kind: str, rate: str, c: float, radius: float, averaging: float | None = None
) -> Optimizer:
    """Make the optimizer of these settings, which are named as in a task file.

    >>> import numpy as np
    >>> list(make_optimizer("sgd", "sqrt", c=1.0, radius=10.0, averaging=3.0).init(np.zeros(3)))
    ['t', 'average', 'averaged']
    """
    optimizer = OPTIMIZERS[kind].make(RATES[rate].make(c), c, radius)
    return optimizer if averaging is None else averaged(optimizer, averaging)
