"""Will this crowd learn, and with which settings? Simulated before anyone is asked."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.privacy import Unit
from crowdml.protocol import MECHANISMS, CollectionSpec, Conditions, Task, Wanted
from crowdml.simulation.baselines import guess_error
from crowdml.simulation.curve import Curve
from crowdml.simulation.datasets import Dataset, synthetic
from crowdml.simulation.delays import uniform_delay
from crowdml.simulation.notebook import data_frame, html_table
from crowdml.simulation.plan import Plan
from crowdml.simulation.settings import Crowd, Learning
from crowdml.simulation.trials import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["Advice", "Gathering", "Option", "advise"]

PARTS = (1, 2, 5, 10)
"""Into how many check-ins a device's samples are tried to be split."""

NOT_WORSE = 0.01
"""Errors this close count as the same, and then less of a participant's time is better."""

FAR_BETTER = 0.05
MOST_SAMPLES = 400_000
MOST_NUMBERS = 8_000_000
"""Features of all samples together: of a crowd with more, a part is simulated."""

MOST_TIMES = 64
"""How much larger crowds are looked at when a target error is asked for."""


@dataclass(frozen=True)
class Gathering:
    """Who is expected to take part.

    Args:
        devices: M.
        samples: How many each collects.
        delay: The longest of each of the three delays, in samples of the whole crowd.
        skew: Dirichlet concentration of labels over devices; None for people alike.
    """

    devices: int
    samples: int
    delay: float = 0.0
    skew: float | None = None

    def __post_init__(self) -> None:
        for name in ("devices", "samples"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} must be at least 1, found {getattr(self, name)}.")


@dataclass(frozen=True)
class Option:
    """One way to run the task, and what to expect of it.

    Args:
        mechanism: How people are protected.
        batch: b.
        checkins: Of each device.
        error: Expected, on average over trials.
        std: Its spread over trials.
        protects: Whom ε is for: the whole person, or each sample.
        epsilon_per_person: What a person loses in all, at most.
        minutes: Of a participant's time, where the task says how often samples are taken.
        private_bytes: Of everything that a device tells of its samples.
    """

    mechanism: str
    batch: int
    checkins: int
    error: float
    std: float
    protects: str
    epsilon_per_person: float
    minutes: float | None
    private_bytes: int

    @property
    def samples(self) -> int:
        return self.batch * self.checkins

    @property
    def summary(self) -> dict[str, str]:
        """All of it, for people."""
        return {
            "mechanism": self.mechanism,
            "for each": self.protects,
            "b": str(self.batch),
            "K": str(self.checkins),
            "error": f"{self.error:.3f} ± {self.std:.3f}",
            "ε person": f"{self.epsilon_per_person:.3g}",
            "min": "–" if self.minutes is None else f"{self.minutes:.0f}",
            "bytes": f"{self.private_bytes:,}",
        }


@dataclass(frozen=True)
class Advice:
    """What to expect, and what to choose.

    Args:
        guess_error: Of the most frequent label, or the median.
        central_error: With all data in one place.
        options: What was tried, the best first.
        recommended: What to choose.
        devices_needed: For the target error with the recommended option; None if none was asked
            for, or not even the largest crowd tried reached it.
        sentence: The advice in words.
        own: What the task's own settings should reach; None if they need more samples than a
            device has.
        own_sentence: That in words, and what would be clearly better.
        devices: How many were expected.
        simulated_devices: How many of them were simulated.
    """

    guess_error: float
    central_error: float
    options: list[Option]
    recommended: Option
    devices_needed: int | None
    sentence: str
    own: Option | None
    own_sentence: str | None
    devices: int
    simulated_devices: int

    def to_frame(self) -> "DataFrame":
        """A row for each option, in pandas; `recommended` is true for one."""
        names = [field.name for field in fields(Option)]
        columns = {name: [getattr(one, name) for one in self.options] for name in names}
        return data_frame(
            columns | {"recommended": [one == self.recommended for one in self.options]}
        )

    def plot(self, title: str = "") -> "Figure":
        """A bar for each option, between guessing and all data in one place."""
        from crowdml.simulation.plot import draw_options

        return draw_options(self, title)

    def _repr_html_(self) -> str:
        rows = [option.summary for option in self.options]
        return html_table(
            list(rows[0]),
            [list(row.values()) for row in rows],
            sentences=filter(None, [self.sentence, self.own_sentence]),
            marked=self.options.index(self.recommended),
        )


def advise(
    task: Task,
    gathering: Gathering,
    data: Dataset | None = None,
    *,
    difficulty: str = "medium",
    mechanisms: Sequence[str] = tuple(MECHANISMS),
    target_error: float | None = None,
    trials: int = 3,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Advice:
    """Simulate mechanisms × b × K for this task and crowd.

    Args:
        task: What is learnt, and at which ε.
        gathering: Who is expected.
        data: Samples that resemble theirs; made-up ones by default.
        difficulty: Of made-up samples: easy, medium or hard.
        mechanisms: Which to try.
        target_error: Ask how many devices it needs.
        trials: Repetitions.
        seed: The same seed gives the same advice.
        progress: Called with the number of runs done and in all.
    """
    if target_error is not None and not 0 < target_error < 1:
        raise InvalidInput(f"a target error must be above 0 and below 1, found {target_error:g}.")
    draw = partial(_draw, task, data, difficulty)
    tried = [
        (mechanism, batch, checkins)
        for mechanism in mechanisms
        for batch, checkins in _splits(mechanism, gathering.samples)
    ]
    plans = [_plan(task, gathering, *each) for each in tried]
    typed = _typed(task, gathering)
    if typed:
        tried.append(typed)
        plans.append(_own_plan(task, gathering, *typed))
    model = task.terms.model
    central = Learning(
        model=model.kind, intercept=model.intercept, delta=model.delta, tolerance=model.tolerance
    )
    plans.append(Plan(Crowd(devices=1), central, "central-batch"))
    sized = partial(draw, _samples_of(task, gathering))
    curves = simulate(sized, plans, trials, seed, 1, progress=progress)
    guess = guess_error(sized(np.random.default_rng(seed)), model.tolerance)
    options = [_option(task, *each, curve) for each, curve in zip(tried, curves[:-1], strict=True)]
    own = options.pop() if typed else None
    options.sort(key=lambda option: option.error)
    best = _recommended(options)
    needed = None
    if target_error is not None:
        needed = _devices_needed(task, gathering, best, target_error, draw, trials, seed)
    crowd = (_devices_of(task, gathering), gathering.devices)
    reaches = partial(_reaches, *crowd, guess, curves[-1].final)
    sentence = _sentence(gathering, reaches(best), best, options, target_error, needed)
    own_sentence = f"{reaches(own)}{_better(own, best, options[0])}" if own else None
    return Advice(
        guess,
        curves[-1].final,
        options,
        best,
        needed,
        sentence,
        own=own,
        own_sentence=own_sentence,
        devices=crowd[1],
        simulated_devices=crowd[0],
    )


def _samples_of(task: Task, gathering: Gathering) -> int:
    most = min(MOST_SAMPLES, MOST_NUMBERS // task.terms.features.count)
    return min(gathering.devices * gathering.samples, max(most, gathering.samples))


def _devices_of(task: Task, gathering: Gathering) -> int:
    """As many as have samples in a simulation of bounded size."""
    return _samples_of(task, gathering) // gathering.samples


def _draw(
    task: Task, data: Dataset | None, difficulty: str, n: int, rng: np.random.Generator
) -> Dataset:
    """So many samples of the crowd: drawn from those that resemble them, or made up."""
    terms = task.terms
    if data is None:
        made = synthetic(n, terms.features.count, terms.target.labels, difficulty, rng)
        scale = 1 if terms.n_classes else terms.target.scale
        return replace(made, y_train=scale * made.y_train, y_test=scale * made.y_test)
    if data.x_train.shape[1] != terms.features.count or len(data.labels) != terms.n_classes:
        raise InvalidInput(
            f"the data must have the task's {terms.features.count} features and "
            f"{terms.n_classes} labels, found {data.x_train.shape[1]} and {len(data.labels)}."
        )
    rows = rng.integers(len(data.y_train), size=n)
    return replace(
        data, x_train=data.x_train[rows], y_train=data.y_train[rows], person=np.zeros(n, np.int64)
    )


def _splits(mechanism: str, samples: int) -> list[tuple[int, int]]:
    """(b, K): all samples in K check-ins; and for whole people a single check-in of fewer."""
    splits = {(samples // parts, parts) for parts in PARTS if samples >= parts}
    if mechanism == "direction":
        splits |= {(samples // parts, 1) for parts in PARTS if samples >= parts}
    return sorted(splits, reverse=True)


def _typed(task: Task, gathering: Gathering) -> tuple[str, int, int] | None:
    """The task's own mechanism, b and K; with noise, K is what the samples give."""
    collection = task.terms.collection
    checkins = collection.checkins or gathering.samples // collection.batch
    enough = 0 < collection.batch * checkins <= gathering.samples
    return (task.terms.mechanism_name, collection.batch, checkins) if enough else None


def _plan(task: Task, gathering: Gathering, mechanism: str, batch: int, checkins: int) -> Plan:
    terms = task.terms
    spec = CollectionSpec(batch, checkins=checkins)
    own = terms.mechanism_name == mechanism
    roles = (terms.collection if own else spec.terms(mechanism, terms.n_classes)).roles
    crowd = Crowd(
        devices=_devices_of(task, gathering),
        batch=batch,
        checkins=checkins,
        delay=uniform_delay(gathering.delay) if gathering.delay else None,
        skew=gathering.skew,
        evaluators=roles.evaluators,
        counters=roles.counters,
    )
    learning = Learning(
        mechanism=mechanism,
        epsilon=float(terms.privacy.epsilon),
        model=terms.model.kind,
        intercept=terms.model.intercept,
        regularization=terms.model.regularization,
        radius=terms.model.radius,
        scale=None if terms.n_classes else terms.target.scale,
        delta=terms.model.delta,
        tolerance=terms.model.tolerance,
    )
    return Plan(crowd, learning)


def _own_plan(task: Task, gathering: Gathering, mechanism: str, batch: int, checkins: int) -> Plan:
    """With all that the task chooses itself."""
    plan, step = _plan(task, gathering, mechanism, batch, checkins), task.optimizer
    learning = replace(
        plan.learning,
        c=step.c or (None if step.planned else 1.0),
        rate=step.rate,
        optimizer=step.kind,
        averaging=step.averaging,
        reach=step.reach,
        clip=task.terms.model.clip,
    )
    return replace(plan, learning=learning)


def _option(task: Task, mechanism: str, batch: int, checkins: int, curve: Curve) -> Option:
    sensor, kind = task.terms.features.sensor, MECHANISMS[mechanism]
    made = kind.terms.of(
        Wanted(
            float(task.terms.privacy.epsilon), counted=task.terms.n_classes > 0, checkins=checkins
        )
    ).make(Conditions(task.terms.make_model(), batch=batch, checkins=checkins, clip=kind.clip))
    return Option(
        mechanism=mechanism,
        batch=batch,
        checkins=checkins,
        error=curve.final,
        std=float(curve.std[-1]),
        protects="person" if made.unit is Unit.CHECKIN else "sample",
        epsilon_per_person=curve.epsilon_per_person,
        minutes=sensor.every * batch * checkins / 60 if sensor else None,
        private_bytes=made.private_bytes * checkins,
    )


def _recommended(options: list[Option]) -> Option:
    """The best that protects whole people; of those as good, the one that takes the least time."""
    whole = [option for option in options if option.protects == "person"] or options
    best = min(option.error for option in whole)
    return min(
        (option for option in whole if option.error <= best + NOT_WORSE),
        key=lambda option: (option.samples, option.checkins, option.error),
    )


def _devices_needed(
    task: Task,
    gathering: Gathering,
    best: Option,
    target: float,
    draw: Callable[[int, np.random.Generator], Dataset],
    trials: int,
    seed: int,
) -> int | None:
    """The fewest devices, to a factor of 1.4 or so, whose mean error is at most the target."""
    for doublings in np.arange(-4, math.log2(MOST_TIMES) + 0.1, 0.5):
        devices = math.ceil(gathering.devices * 2**doublings)
        crowd = replace(gathering, devices=devices, samples=best.samples)
        if devices * best.samples > 10 * MOST_SAMPLES or devices < 2:
            continue
        plan = _plan(task, crowd, best.mechanism, best.batch, best.checkins)
        plan = replace(plan, crowd=replace(plan.crowd, devices=devices))
        sized = partial(draw, devices * best.samples)
        (curve,) = simulate(sized, [plan], trials, seed, 1)
        if curve.final <= target:
            return devices
    return None


def _setting(option: Option) -> str:
    times = "once" if option.checkins == 1 else f"{option.checkins} times"
    samples = "1 sample" if option.batch == 1 else f"{option.batch} samples"
    return f"with {option.mechanism} and {samples} a check-in, {times}"


def _reaches(simulated: int, expected: int, guess: float, central: float, option: Option) -> str:
    learnt = (guess - option.error) / max(guess - central, 1e-9)
    verdict = (
        "learns well"
        if learnt > 0.9
        else "learns something"
        if learnt > 0.5
        else "will hardly learn"
    )
    part = simulated < expected
    who, of = ("A part of this crowd", f"{simulated:,} of ") if part else ("This crowd", "")
    return (
        f"{who} {verdict}: {_setting(option)}, {of}{expected:,} "
        f"{'device' if expected == 1 else 'devices'} should reach an error of {option.error:.3f} "
        f"(guessing {guess:.3f}, all data in one place {central:.3f})."
        f"{' All of them should do better.' if part else ''}"
    )


def _better(own: Option, *others: Option) -> str:
    """The first of these that is clearly better than the task's own settings, if there is one."""
    for other in others:
        if other.error < own.error - FAR_BETTER:
            less = other.protects == "sample" and own.protects == "person"
            promise = "With a promise per sample only, the same crowd" if less else "The same crowd"
            return f" {promise} should reach {other.error:.3f} {_setting(other)}."
    return ""


def _sentence(
    gathering: Gathering,
    reaches: str,
    best: Option,
    options: list[Option],
    target: float | None,
    needed: int | None,
) -> str:
    words = [reaches]
    samplewise = min((o for o in options if o.protects == "sample"), key=lambda o: o.error,
                     default=None)  # fmt: skip
    if samplewise and best.protects == "person":
        words.append(_better(best, samplewise).strip())
    if gathering.skew is not None and gathering.skew < 1 and best.protects == "person":
        words.append("People who differ much in their labels make whole-person privacy learn more "
                     "slowly.")  # fmt: skip
    if target is not None:
        words.append(
            f"An error of {target:g} needs about {needed:,} devices."
            if needed
            else f"An error of {target:g} was not reached with {MOST_TIMES} times as many devices."
        )
    return " ".join(filter(None, words))
