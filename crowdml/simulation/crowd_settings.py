"""Describe what to simulate: a crowd, and how it learns."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from crowdml.errors import InvalidInput
from crowdml.models import MODELS, Model
from crowdml.optim import OPTIMIZERS, RATES, Optimizer
from crowdml.privacy import Roles
from crowdml.protocol import MECHANISMS, USUAL_MECHANISM, OptimizerSpec, PrivacyTerms
from crowdml.simulation import compiled
from crowdml.simulation.schedule import Delay

LARGEST_COUNT = 10**9
"""The most devices, samples of each and check-ins: a larger number must be a typing error."""

SMALLEST_SIZE = 1e-12
"""No size of numbers or parameters is below this, nor above one over it."""

COUNT_FIELDS = "devices", "batch", "passes", "buffer", "checkins", "pilot", "pilot_people"
"""What a crowd counts."""

LARGEST_SHARES = {"late": 1, "leaving": 1, "heldout": 0.5, "liars": 1}

KNOWN_KINDS: dict[str, Mapping[str, object]] = {
    "mechanism": MECHANISMS,
    "model": MODELS,
    "rate": RATES,
    "optimizer": OPTIMIZERS,
}


@dataclass(frozen=True)
class Crowd:
    """Describe who takes part: everything that decides the schedule.

    Args:
        devices: M.
        batch: b.
        buffer: B; unlimited by default.
        delay: The law of each of the three delays, in ticks; none by default.
        passes: How often each sample is used. Each pass costs ε again.
        late: The share of devices that join late, at a uniformly random moment.
        leaving: The share of devices that leave early, at a uniformly random later moment.
        skew: Dirichlet concentration of labels over devices; smaller is more unequal.
        spread: σ of log-normal numbers of samples.
        checkins: K, after which a device stops; by default as many as its samples give.
        evaluators: The share of check-ins that send right or wrong instead of training.
        counters: The share of check-ins that send an answer instead of training.
        heldout: The share of a check-in's samples that count errors instead of training.
        liars: The share of devices that push the model away as hard as a server lets them.
        updates: T, the check-ins after which the task ends, and for which the rate is planned; by
            default as many as there are.
        pilot: How many training samples are set aside as a pilot, from which w starts; none by
            default. The crowd has the other samples, and each trial draws another pilot.
        pilot_people: The people of the pilot, whose other samples are left out; 2 by default where
            the data say whose samples they are.
    """

    devices: int = 1000
    batch: int = 1
    buffer: int | None = None
    delay: Delay | None = None
    passes: int = 1
    late: float = 0.0
    leaving: float = 0.0
    skew: float | None = None
    spread: float | None = None
    checkins: int | None = None
    evaluators: float = 0.0
    counters: float = 0.0
    heldout: float = 0.0
    liars: float = 0.0
    updates: int | None = None
    pilot: int | None = None
    pilot_people: int | None = None

    def __post_init__(self) -> None:
        for name in COUNT_FIELDS:
            value = getattr(self, name)
            if value is not None and not 1 <= value <= LARGEST_COUNT:
                raise InvalidInput(f"{name} must lie in 1 … {LARGEST_COUNT:,}, found {value}.")
        if self.pilot is None and self.pilot_people is not None:
            raise InvalidInput(
                f"pilot_people needs a pilot, found {self.pilot_people} people and no pilot. Give "
                "the pilot's number of samples, too."
            )
        if self.updates is not None and self.updates < 1:
            raise InvalidInput(f"updates must be at least 1, found {self.updates}.")
        for name, most in LARGEST_SHARES.items():
            if not 0 <= (share := getattr(self, name)) <= most:
                raise InvalidInput(f"{name} must lie in 0 … {most:g}, found {share:g}.")
        _ = self.roles

    @property
    def roles(self) -> Roles:
        """Return which check-ins do not train."""
        return Roles(self.evaluators, self.counters)


@dataclass(frozen=True)
class StartPoint:
    """Hold where w starts, and how sure the start is of itself.

    Args:
        w: The flat parameters in the model's order.
        distance: d_boot, from which D follows; without it, D is that from zero.
        rows: n, the rows of the pilot; a distance needs it.
        people: P, the people in the pilot; None where that is not known.
    """

    w: tuple[float, ...]
    distance: float | None = None
    rows: int | None = None
    people: int | None = None

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, self.w)):
            raise InvalidInput("the parameters of a start must be finite, found others.")
        if self.distance is not None and self.rows is None:
            raise InvalidInput("a start with a distance must have the number of its rows.")


@dataclass(frozen=True)
class Learning:
    """Describe how the crowd learns: everything that decides the fold.

    Args:
        mechanism: One of `crowdml.protocol.MECHANISMS`.
        epsilon: As in a task: for `direction` what a person loses over all K check-ins;
            for the others what a sample loses in one use. inf for no noise.
        c: The rate's constant; planned by default.
        rate: One of `crowdml.optim.RATES`, for optimizers with a rate: by default `planned`, or
            `sqrt` where c is given.
        optimizer: One of `crowdml.optim.OPTIMIZERS`.
        regularization: λ.
        clip: S; by default what suits the planned rate, or the model's own bound with another.
        reach: D of the planned rate; by default the reach of the start's pilot, or the mechanism's.
        radius: R.
        averaging: The power of an average of iterates; by default 3 for the planned rate, and
            none for another.
        model: One of `crowdml.models.MODELS`.
        intercept: Whether scores have intercepts.
        scale: The typical size of numbers to be predicted; by default that in the data.
        delta: The residual at which Huber's loss becomes linear; the scale by default.
        tolerance: A number's residual above this is an error; the scale by default.
        limits_length: Whether no gradient may be much longer than others, as on a server: for
            mechanisms that protect samples. Not for baselines, nor for the paper's own server.
        start: The start of w; zero by default.
        privacy: The privacy terms of a task with this mechanism and this ε, which have δ, k and the
            parts of ε for counts; by default all of ε is for gradients, and nothing else is sent.
        own_model: A model of one's own, as `own_model(n_features, n_classes)`. It runs in plain
            NumPy, slowly, and a warning says so.
        own_optimizer: An optimizer of one's own, likewise.
    """

    mechanism: str = USUAL_MECHANISM
    epsilon: float = math.inf
    c: float | None = None
    rate: str | None = None
    optimizer: str = "sgd"
    regularization: float = 0.0
    clip: float | None = None
    reach: float | None = None
    radius: float = 1e6
    averaging: float | None = None
    model: str = "softmax"
    intercept: bool = False
    scale: float | None = None
    delta: float | None = None
    tolerance: float | None = None
    limits_length: bool = True
    start: StartPoint | None = None
    privacy: PrivacyTerms | None = None
    own_model: Callable[[int, int], Model] | None = None
    own_optimizer: Optimizer | None = None

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise InvalidInput(
                f"epsilon must be positive, found {self.epsilon}. Use inf for no noise."
            )
        for name in ("clip", "radius", "reach", "scale", "delta", "tolerance"):
            value = getattr(self, name)
            if value is not None and not SMALLEST_SIZE <= value <= 1 / SMALLEST_SIZE:
                rule = f"must lie in {SMALLEST_SIZE:g} … {1 / SMALLEST_SIZE:g}"
                raise InvalidInput(f"{name} {rule}, found {value}.")
        if self.c is not None and not 0 < self.c < math.inf:
            raise InvalidInput(f"the rate must be positive and finite, found {self.c}.")
        if self.averaging is not None and not 0 <= self.averaging <= 1000:
            raise InvalidInput(
                f"averaging must lie in 0 … 1000, found {self.averaging}. Leave it out for none."
            )
        if not 0 <= self.regularization < math.inf:
            raise InvalidInput(
                f"the regularization must be finite and not negative, found {self.regularization}."
            )
        for name, known in KNOWN_KINDS.items():
            value = getattr(self, name)
            if value is not None and value not in known:
                raise InvalidInput(f"{name} must be one of {', '.join(known)}, found {value!r}.")
        if self.clip is not None and "model.clip" not in MECHANISMS[self.mechanism].options:
            raise InvalidInput(
                f"{self.mechanism} needs no clip, found {self.clip:g}. Leave it out."
            )
        if self.c is None and not self.planned and self.own_optimizer is None:
            raise InvalidInput(
                f"only the planned rate of sgd or average-gradient needs no c, found "
                f"{self.optimizer} with {self.spec.schedule}. Give c."
            )

    @property
    def spec(self) -> OptimizerSpec:
        """Return the optimizer as a task would name it."""
        return OptimizerSpec(self.optimizer, self.rate, self.c, self.averaging, self.reach)

    @property
    def planned(self) -> bool:
        return self.spec.planned and self.own_optimizer is None

    @property
    def kernel_optimizer(self) -> str:
        """Return the kernel's name of the optimizer: plain SGD by its rate, others by name."""
        return self.spec.schedule if self.optimizer == "sgd" else self.optimizer

    @property
    def compiled(self) -> bool:
        """Return whether the fold runs compiled; own models and optimizers do not."""
        own = self.own_model is not None or self.own_optimizer is not None
        known = self.model in compiled.MODELS and self.kernel_optimizer in compiled.OPTIMIZERS
        return known and not own
