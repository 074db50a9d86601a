"""Read a plan file: the settings of a simulation in plain values, one or several of each."""

import itertools
import math
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import numpy as np
from msgspec import Meta, Struct

from crowdml.errors import InvalidInput, InvalidTask, Mistake
from crowdml.models import MODELS
from crowdml.optim import OPTIMIZERS
from crowdml.protocol import MECHANISMS, USUAL_MECHANISM, Review
from crowdml.simulation import schedule
from crowdml.simulation.crowd_settings import Crowd, Learning
from crowdml.simulation.datasets import Dataset, set_aside
from crowdml.simulation.plan import APPROACHES, Plan

USUAL_DEVICES = 1000
"""The number of devices if neither people nor check-ins determine it."""

ApproachName: TypeAlias = Annotated[str, Meta(extra={"names": APPROACHES})]
MechanismName: TypeAlias = Annotated[str, Meta(extra={"names": MECHANISMS})]
ModelName: TypeAlias = Annotated[str, Meta(extra={"names": MODELS})]
OptimizerName: TypeAlias = Annotated[str, Meta(extra={"names": OPTIMIZERS})]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=10**9)]
AboveZero: TypeAlias = Annotated[float, Meta(gt=0)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0)]
Fraction: TypeAlias = Annotated[float, Meta(ge=0, le=1)]


class CurveSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Hold the settings of one curve.

    Args:
        approach: One of `APPROACHES`.
        mechanism, epsilon, optimizer, clip, reach, radius, averaging, model, intercept, scale,
            delta, tolerance: See `Learning`; without a model, softmax for labels and huber for
            numbers.
        devices, batch, buffer, passes, checkins, evaluators, counters, liars, late, leaving, skew,
            spread, pilot, pilot_people: See `Crowd`; for devices see `default_devices`.
        delay, delay_law: τ of each message in samples of the whole crowd, and its law.
        rate: `planned`; or c; or `auto`, which chooses c on samples set aside, or `paper`, which
            chooses it on the test set.
        schedule: η(t) for a given or chosen c; sqrt by default.
        reg: λ; by default chosen together with c, otherwise 0.
    """

    approach: ApproachName = "crowd"
    mechanism: MechanismName = USUAL_MECHANISM
    devices: Count | None = None
    batch: Count = 1
    epsilon: AboveZero = math.inf
    checkins: Count | None = None
    evaluators: Fraction = 0.0
    counters: Fraction = 0.0
    liars: Fraction = 0.0
    delay: NotNegative = 0.0
    delay_law: Literal["uniform", "constant", "exponential", "lognormal"] = "uniform"
    passes: Count = 1
    optimizer: OptimizerName = "sgd"
    rate: AboveZero | Literal["planned", "auto", "paper"] = "planned"
    schedule: Literal["sqrt", "constant", "inverse"] | None = None
    reg: NotNegative | None = None
    clip: AboveZero | None = None
    reach: AboveZero | None = None
    averaging: NotNegative | None = None
    model: ModelName | None = None
    intercept: bool = False
    scale: AboveZero | None = None
    delta: AboveZero | None = None
    tolerance: AboveZero | None = None
    radius: AboveZero = 1e6
    buffer: Count | None = None
    late: Fraction = 0.0
    leaving: Fraction = 0.0
    skew: AboveZero | None = None
    spread: NotNegative | None = None
    pilot: Count | None = None
    pilot_people: Count | None = None

    @property
    def chooses_rate(self) -> bool:
        """Return whether c is chosen by trying, because that is wanted or no plan for c exists."""
        unplanned = self.rate == "planned" and not OPTIMIZERS[self.optimizer].has_rate
        return self.rate in ("auto", "paper") or unplanned

    def plan(self, data: Dataset | None = None) -> Plan:
        """Make the plan of this setting; without `devices` it needs the data to count them."""
        if self.rate == "planned" and self.schedule is not None:
            raise InvalidInput(
                f"the planned rate is constant, found the schedule {self.schedule}. Give a rate, "
                "or auto."
            )
        planned = self.rate == "planned" and not self.chooses_rate
        learning = self._common(Learning) | {
            "c": None if planned else 1.0 if isinstance(self.rate, str) else self.rate,
            "rate": "planned" if planned else self.schedule or "sqrt",
            "regularization": self.reg or 0.0,
            "model": self.model or ("huber" if data and not data.labels else "softmax"),
        }
        delay = getattr(schedule, f"{self.delay_law}_delay")(self.delay)
        crowd = self._common(Crowd) | {
            "devices": self.devices or (self.default_devices(data) if data else USUAL_DEVICES),
            "delay": delay if self.delay else None,
        }
        return Plan(Crowd(**crowd), Learning(**learning), self.approach)

    def _common(self, kind: type[Crowd] | type[Learning]) -> dict[str, Any]:
        names = {field.name for field in fields(kind)} & {*self.__struct_fields__}
        return {name: getattr(self, name) for name in names}

    def default_devices(self, data: Dataset) -> int:
        """Return one device for each person, or 1000.

        Where ε is for a person over all check-ins, return as many devices as have the samples for
        one check-in each, or for K check-ins, so that each device sends as much as it can. A
        pilot's people and samples do not count.
        """
        if self.pilot is not None:
            rng = np.random.default_rng(0)
            _, data = set_aside(data, self.pilot, self.pilot_people, rng)
        if "collection.checkins" in MECHANISMS[self.mechanism].options:
            return data.most_devices(self.batch * (self.checkins or 1))
        people = len(set(data.person.tolist()))
        return people if people > 1 else min(USUAL_DEVICES, len(data.y_train))


class PlanFile(CurveSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Hold a setting, and what all settings of a plan file share.

    Args:
        dataset: A name, or a path to .npz or .csv.
        trials: The number of repetitions, each with its own random numbers.
        seed: The same seed gives the same curves.
        points: Points of a curve.
        engine: `ray` or `dask`, with `=ADDRESS` for an existing cluster.
    """

    dataset: str
    trials: Count = 1
    seed: Annotated[int, Meta(ge=0)] = 0
    points: Annotated[int, Meta(ge=1, le=1_000_000)] = 30
    engine: str | None = None


S = TypeVar("S", bound=CurveSettings)


def read_plan(text: str) -> dict[str, Any]:
    """Read the tables of a plan file; raise `InvalidInput` if it is not TOML."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the plan file must be valid TOML: {error}.") from error


def read_settings(document: Mapping[str, Any], kind: type[S]) -> list[S]:
    """List every combination of the values in a document once, in the order of the fields.

    A clip is left out where there are several mechanisms and the given one has none. `InvalidTask`
    has every wrong field.

    >>> for setting in read_settings({"batch": [1, 10], "epsilon": 4}, CurveSettings):
    ...     print(setting.batch, setting.epsilon)
    1 4.0
    10 4.0
    """
    known = CurveSettings.__struct_fields__
    listed = {name: document[name] for name in known if name in document}
    listed = {n: v if isinstance(v, list) and v else [v] for n, v in listed.items()}
    listed |= {name: [value] for name, value in document.items() if name not in known}
    found: list[S] = []
    mistakes: dict[str, Mistake] = {}
    for values in itertools.product(*listed.values()):
        setting = dict(zip(listed, values, strict=True))
        mechanism = MECHANISMS.get(setting.get("mechanism", ""))
        if len(listed.get("mechanism", [])) > 1 and mechanism:
            setting |= {} if "model.clip" in mechanism.options else {"clip": None}
        review = Review(setting, kind, "the plan")
        mistakes |= {str(mistake): mistake for mistake in review.mistakes}
        if not mistakes and (read := kind(**review.values)) not in found:
            found.append(read)
    if mistakes:
        raise InvalidTask(*mistakes.values())
    return found
