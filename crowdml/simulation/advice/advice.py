"""Define the values of an advice: what to expect of a crowd, and which settings to choose."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from crowdml.errors import InvalidInput
from crowdml.simulation.notebook import data_frame, html_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Hardship: TypeAlias = Literal["leaving", "delay", "skew", "spread"]

LIARS_SIMULATED = 0.1
"""The share of devices that lie when the robustness of an option is simulated."""

MOST_TIMES = 64
"""For a target error, crowds of up to this many times the expected size are simulated."""


@dataclass(frozen=True)
class ExpectedCrowd:
    """Describe who is expected to take part.

    Args:
        devices: M.
        samples: The number of samples that each device collects.
        delay: The longest value of each of the three delays, in samples of the whole crowd.
        skew: Dirichlet concentration of labels over devices; None if all are alike.
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

    def without_each_hardship(self) -> "dict[Hardship, ExpectedCrowd]":
        """Return, for each hardship of this crowd, the same crowd without that hardship."""
        without: dict[Hardship, ExpectedCrowd] = {
            "leaving": replace(self, leaving=0.0),
            "delay": replace(self, delay=0.0),
            "skew": replace(self, skew=None),
            "spread": replace(self, spread=None),
        }
        return {name: other for name, other in without.items() if other != self}


@dataclass(frozen=True)
class HardshipCost:
    """State what a hardship costs a crowd that has it.

    Args:
        hardship: The name of the hardship: see `ExpectedCrowd`.
        error: The average error of the task's own settings without the hardship.
        cost: By how much the hardship raises the error.
    """

    hardship: Hardship
    error: float
    cost: float


@dataclass(frozen=True)
class PlanOption:
    """Describe one way to run the task, and what to expect of it.

    Args:
        batch: b.
        checkins: The number of check-ins of each device.
        error: The expected error, on average over trials.
        std: Its standard deviation over trials.
        low, high: Nine runs in ten, and most often nineteen in twenty, end between them.
        protects: Whom ε is for: the whole person, or each sample.
        epsilon_per_person: The most that a person loses in total.
        minutes: Minutes of a participant's time, where the task says how often samples are taken.
        private_bytes: The size of everything that a device sends about its samples.
        error_with_liars: The error if `LIARS_SIMULATED` of the devices push the model away as
            hard as a server lets them; None where that was not simulated.
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
        """Summarise the option in sentences."""
        minutes = {} if self.minutes is None else {"min": f"{self.minutes:.0f}"}
        return {
            "mechanism": self.mechanism,
            "for": self.protects,
            "b": str(self.batch),
            "K": str(self.checkins),
            "error": f"{self.error:.3f}",
            "nine in ten": f"{self.low:.3f} to {self.high:.3f}",
            f"{LIARS_SIMULATED:.0%} lie": "–"
            if self.error_with_liars is None
            else f"{self.error_with_liars:.3f}",
            "ε person": _three_digits(self.epsilon_per_person),
            **minutes,
            "bytes": f"{self.private_bytes:,}",
        }


def _three_digits(value: float) -> str:
    """Format a number with three digits or all digits before the point, never with an exponent."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


@dataclass(frozen=True)
class Advice:
    """State what to expect of a crowd, and which settings to choose.

    Args:
        guess_error: The error of guessing the most frequent label, or the median.
        central_error: The error with all data in one place.
        options: The options that were tried, the best first.
        devices_needed: The number of devices that reach the target error in nine runs of ten with
            the recommended option; None if there is no target, or no crowd tried reached it.
        verdict: Whether the recommended option learns `well`, `something` or `hardly` anything; or
            `something to well` and the like, where runs differ so much.
        own: What the task's own settings should reach; None if they need more samples than a
            device has.
        own_sentence: A sentence on `own`, and on what would be clearly better.
        better: The recommended option, if it is clearly better than the task's own settings.
        devices: The number of devices that were expected.
        simulated_devices: The number of devices that were simulated.
        costs: What each hardship costs the task's own settings, where the crowd has any.
    """

    guess_error: float
    central_error: float
    options: Sequence[PlanOption]
    recommended: PlanOption
    devices_needed: int | None
    sentence: str
    own: PlanOption | None
    own_sentence: str | None
    verdict: str
    own_verdict: str | None
    better: PlanOption | None
    devices: int
    simulated_devices: int
    costs: Sequence[HardshipCost]

    def to_frame(self) -> "DataFrame":
        """Return a pandas table with a row for each option; one of them is `recommended`."""
        names = [field.name for field in fields(self.recommended)]
        columns = {name: [getattr(one, name) for one in self.options] for name in names}
        return data_frame(
            columns | {"recommended": [one == self.recommended for one in self.options]}
        )

    def plot(self, title: str = "") -> "Figure":
        """Draw a bar for each option, between guessing and all data in one place."""
        from crowdml.simulation.advice.plot import draw_options

        return draw_options(self, title)

    def _repr_html_(self) -> str:
        rows = [option.summary for option in self.options]
        return html_table(
            list(rows[0]),
            [list(row.values()) for row in rows],
            sentences=filter(None, [self.sentence, self.own_sentence]),
            marked=self.options.index(self.recommended),
        )
