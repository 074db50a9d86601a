"""What to simulate: a crowd, and how it learns."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from crowdml.errors import InvalidInput
from crowdml.models import MODELS, Model
from crowdml.optim import OPTIMIZERS, RATES, Optimizer, make_optimizer
from crowdml.privacy import Epsilon, Sanitizer
from crowdml.simulation import kernel
from crowdml.simulation.arrivals import Presence
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.delays import Delay

__all__ = ["Crowd", "Learning"]

UNLIMITED = 1e30
"""Larger than any gradient, and still finite in single precision."""


@dataclass(frozen=True)
class Crowd:
    """Who takes part: all that decides the schedule.

    Args:
        devices: M.
        batch: b.
        buffer: B; unlimited by default.
        delay: The law of each of the three delays, in ticks; none by default.
        passes: How often each sample is used. Each pass costs ε again.
        presence: Devices that join late or leave.
        skew: Dirichlet concentration of labels over devices; smaller is more unequal.
        spread: σ of log-normal numbers of samples.
    """

    devices: int = 1000
    batch: int = 1
    buffer: int | None = None
    delay: Delay | None = None
    passes: int = 1
    presence: Presence | None = None
    skew: float | None = None
    spread: float | None = None

    def __post_init__(self) -> None:
        for name in ("devices", "batch", "passes"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} must be at least 1, found {getattr(self, name)}.")


@dataclass(frozen=True)
class Learning:
    """How it learns: all that decides the fold.

    Args:
        epsilon: ε_g of one check-in; inf for no noise.
        c: The rate's constant.
        rate: One of `crowdml.optim.RATES`, for optimizers with a rate.
        optimizer: One of `crowdml.optim.OPTIMIZERS`.
        regularization: λ.
        clip: S; by default the model's own bound.
        radius: R.
        averaging: The power of an average of iterates; none by default.
        model: One of `crowdml.models.MODELS`.
        intercept: Whether scores have intercepts.
        delta: Where Huber's loss becomes linear.
        tolerance: For numbers: an error is a residual larger than this.
        own_model: A model of one's own, as `own_model(n_features, n_classes)`. It runs in plain
            NumPy, slowly, and a warning says so.
        own_optimizer: An optimizer of one's own, likewise.
    """

    epsilon: float = math.inf
    c: float = 1.0
    rate: str = "sqrt"
    optimizer: str = "sgd"
    regularization: float = 0.0
    clip: float | None = None
    radius: float = 1e6
    averaging: float | None = None
    model: str = "softmax"
    intercept: bool = False
    delta: float = 1.0
    tolerance: float = 1.0
    own_model: Callable[[int, int], Model] | None = None
    own_optimizer: Optimizer | None = None

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise InvalidInput(
                f"epsilon must be positive, found {self.epsilon}. Use inf for no noise."
            )
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise InvalidInput(f"clip must be positive and finite, found {self.clip}.")
        if not 0 < self.c < math.inf:
            raise InvalidInput(f"the rate must be positive and finite, found {self.c}.")
        if not 0 <= self.regularization < math.inf:
            raise InvalidInput(
                f"the regularization must be finite and not negative, found {self.regularization}."
            )
        for name, known in (("model", MODELS), ("rate", RATES), ("optimizer", OPTIMIZERS)):
            if getattr(self, name) not in known:
                raise InvalidInput(
                    f"{name} must be one of {', '.join(known)}, found {getattr(self, name)!r}."
                )

    @property
    def step(self) -> str:
        """What the kernel calls the optimizer: plain SGD by its rate, others by their name."""
        return self.rate if self.optimizer == "sgd" else self.optimizer

    @property
    def compiled(self) -> bool:
        """Whether the fold runs compiled; what is one's own, or not in the kernel, does not."""
        own = self.own_model is not None or self.own_optimizer is not None
        return not own and self.model in kernel.MODELS and self.step in kernel.OPTIMIZERS

    def make_model(self, n_features: int, n_classes: int) -> Model:
        if self.own_model is not None:
            return self.own_model(n_features, n_classes)
        kind = MODELS[self.model]
        if kind.classifier != (n_classes > 0):
            what = "labels and needs some" if kind.classifier else "a number and takes no labels"
            fitting = [
                name for name, other in MODELS.items() if other.classifier == (n_classes > 0)
            ]
            raise InvalidInput(
                f"{self.model} predicts {what}, found {n_classes}. Use {' or '.join(fitting)}."
            )
        settings = {"delta": self.delta, "tolerance": self.tolerance}
        return kind.model(n_features, n_classes, self.intercept, **settings)

    def model_for(self, data: Dataset) -> Model:
        return self.make_model(data.x_train.shape[1], len(data.labels))

    def make_optimizer(self) -> Optimizer:
        if self.own_optimizer is not None:
            return self.own_optimizer
        return make_optimizer(self.optimizer, self.rate, self.c, self.radius, self.averaging)

    def l1_limit(self, model: Model) -> float:
        """S. Without noise there is nothing to hide, and only a given clip counts."""
        if math.isinf(self.epsilon):
            return self.clip or UNLIMITED
        return self.sanitizer(model).clip

    def sanitizer(self, model: Model) -> Sanitizer:
        """The device's own mechanism; the counts are for monitoring and left out here."""
        clip = min(self.clip or math.inf, model.l1_bound)
        epsilon = Epsilon(self.epsilon, errors=math.inf, labels=0.0)
        return Sanitizer(epsilon, clip, model.size, self.regularization, self.radius)
