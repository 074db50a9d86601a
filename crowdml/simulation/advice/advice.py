"""What to expect of a crowd, and what to choose: the values that an advice is made of."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from crowdml.errors import InvalidInput
from crowdml.simulation.notebook import data_frame, html_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Hardship: TypeAlias = Literal["leaving", "delay", "skew", "spread"]

LIARS = 0.1
"""The share of devices that lie where an option is asked how much it withstands."""

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
        spread: σ of log-normal numbers of samples; None for `samples` on every device.
        leaving: The share of devices that leave early, at a random moment.
    """

    devices: int
    samples: int
    delay: float = 0.0
    skew: float | None = None
    spread: float | None = None
    leaving: float = 0.0

    def __post_init__(self) -> None:
        for name in ("devices", "samples"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} must be at least 1, found {getattr(self, name)}.")
        if not 0 <= self.leaving < 1:
            raise InvalidInput(f"leaving must lie in 0 … 1, below 1, found {self.leaving:g}.")

    def eased(self) -> "dict[Hardship, Gathering]":
        """For each hardship of this crowd, the same crowd without it."""
        without: dict[Hardship, Gathering] = {
            "leaving": replace(self, leaving=0.0),
            "delay": replace(self, delay=0.0),
            "skew": replace(self, skew=None),
            "spread": replace(self, spread=None),
        }
        return {name: other for name, other in without.items() if other != self}


@dataclass(frozen=True)
class Cost:
    """What a hardship costs a crowd that has it.

    Args:
        hardship: Which one: see `Gathering`.
        error: The error of the task's own settings without it, on average.
        cost: By how much the error is larger with it.
    """

    hardship: Hardship
    error: float
    cost: float


@dataclass(frozen=True)
class Option:
    """One way to run the task, and what to expect of it.

    Args:
        batch: b.
        checkins: Of each device.
        error: Expected, on average over trials.
        std: Its standard deviation over trials.
        low, high: Nine runs in ten, and most often nineteen in twenty, end between them.
        protects: Whom ε is for: the whole person, or each sample.
        epsilon_per_person: What a person loses in all, at most.
        minutes: Of a participant's time, where the task says how often samples are taken.
        private_bytes: Of everything that a device tells of its samples.
        error_with_liars: The error if `LIARS` of the devices push the model away as hard as a
            server lets them; None where that was not simulated.
    """

    mechanism: str
    batch: int
    checkins: int
    error: float
    std: float
    low: float
    high: float
    protects: str
    epsilon_per_person: float
    minutes: float | None
    private_bytes: int
    error_with_liars: float | None = field(default=None, kw_only=True)

    @property
    def samples(self) -> int:
        return self.batch * self.checkins

    @property
    def summary(self) -> dict[str, str]:
        """All of it, for people."""
        minutes = {} if self.minutes is None else {"min": f"{self.minutes:.0f}"}
        return {
            "mechanism": self.mechanism,
            "for": self.protects,
            "b": str(self.batch),
            "K": str(self.checkins),
            "error": f"{self.error:.3f}",
            "nine in ten": f"{self.low:.3f} to {self.high:.3f}",
            f"{LIARS:.0%} lie": "–"
            if self.error_with_liars is None
            else f"{self.error_with_liars:.3f}",
            "ε person": _figure(self.epsilon_per_person),
            **minutes,
            "bytes": f"{self.private_bytes:,}",
        }


def _figure(value: float) -> str:
    """Three digits, or all before the point, and never an exponent."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


@dataclass(frozen=True)
class Advice:
    """What to expect, and what to choose.

    Args:
        guess_error: Of the most frequent label, or the median.
        central_error: With all data in one place.
        options: What was tried, the best first.
        devices_needed: So many reach the target error in nine runs of ten with the recommended
            option; None if none was asked for, or not even the largest crowd tried reached it.
        verdict: Whether the recommended option learns `well`, `something` or `hardly` anything; or
            `something to well` and the like, where runs differ so much.
        own: What the task's own settings should reach; None if they need more samples than a
            device has.
        own_sentence: Says that, and what would be clearly better.
        better: The recommended option, if it is clearly better than the task's own settings.
        devices: How many were expected.
        simulated_devices: How many of them were simulated.
        costs: What each hardship costs the task's own settings, where the crowd has any.
    """

    guess_error: float
    central_error: float
    options: Sequence[Option]
    recommended: Option
    devices_needed: int | None
    sentence: str
    own: Option | None
    own_sentence: str | None
    verdict: str
    own_verdict: str | None
    better: Option | None
    devices: int
    simulated_devices: int
    costs: Sequence[Cost]

    def to_frame(self) -> "DataFrame":
        """A row for each option, in pandas; `recommended` is true for one."""
        names = [field.name for field in fields(self.recommended)]
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
