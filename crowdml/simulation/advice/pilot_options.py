"""Define the values of an advice on a pilot: what a crowd adds to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crowdml.simulation.advice.advice import Advice, PlanOption
from crowdml.simulation.notebook import html_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PilotVerdict = Literal["improves", "unclear", "nothing", "worsens"]
"""What a crowd does to the pilot's error; an `unclear` improvement may be random."""


@dataclass(frozen=True)
class EpsilonOption(PlanOption):
    """Describe the task's settings at one ε, and what to expect of them.

    The range from low to high follows from the spread of what the crowd adds to its start. The
    range is wide: it includes the randomness of small test parts (experiments/figures/pilots.py).

    Args:
        epsilon: The ε of a task file.
        verdict: What the crowd adds to the pilot.
    """

    epsilon: float
    verdict: PilotVerdict

    @property
    def summary(self) -> dict[str, str]:
        """Summarise the option in sentences."""
        spread = {
            "error": f"{self.error:.3f}",
            "range": f"{self.low:.3f} to {self.high:.3f}",
        }
        return {"ε": f"{self.epsilon:g}"} | spread


@dataclass(frozen=True)
class PilotAdvice(Advice):
    """State what to expect of a crowd that starts from a pilot; all errors are means over turns.

    Options are ε = 0.5, 1, 2, 4 and 8, and the task's own; the smallest comes first. No devices are
    needed where the pilot alone has the target error.

    Args:
        pilot_error: The error of the start alone, in the same turns.
        whole_pilot_error: The error that the task's start states of itself; None if it states none.
        whole_pilot_margin: Half of that error's 95 % interval.
        pilot_rows: Rows of the pilot.
        pilot_people: People in it; None where that is not known.
        cross_fitted: Whether each turn fitted a start of its own; otherwise all turns have the
            task's start.
        unknown: What the pilot cannot show, in sentences.
        costs: The cost of each hardship at the recommended ε.
    """

    options: Sequence[EpsilonOption]
    recommended: EpsilonOption
    own: EpsilonOption
    own_sentence: str
    better: EpsilonOption | None
    pilot_error: float
    whole_pilot_error: float | None
    whole_pilot_margin: float | None
    pilot_rows: int
    pilot_people: int | None
    cross_fitted: bool
    unknown: str

    @property
    def comparison(self) -> list[tuple[str, str, str]]:
        """List what is compared, its error and its spread, for tables and comments in a file."""
        rows = [("guessing", f"{self.guess_error:.3f}", "")]
        rows.append(("the pilot alone", f"{self.pilot_error:.3f}", self._whole_pilot))
        rows.append(_row(f"this crowd, at the task's ε = {self.own.epsilon:g}", self.own))
        return rows + [_row(f"at ε = {option.epsilon:g}", option) for option in self.options]

    @property
    def comment(self) -> tuple[str, ...]:
        """Explain the recommended ε in sentences, for the task file that has it."""
        errors = ", ".join(f"{each.error:.3f} at ε = {each.epsilon:g}" for each in self.options)
        compared = (
            f"Guessing has an error of {self.guess_error:.3f}, the pilot alone "
            f"{self.pilot_error:.3f}, and {self.simulated_devices:,} people who start from it have "
            f"{errors}."
        )
        if self.recommended.verdict in ("improves", "unclear"):
            return self.sentence, compared, self.unknown
        nothing = "This crowd adds nothing to the pilot: ask more people, or do not ask."
        return self.sentence, compared, nothing, self.unknown

    @property
    def _whole_pilot(self) -> str:
        if self.whole_pilot_error is None or not self.cross_fitted:
            return ""
        margin = self.whole_pilot_margin
        more = "" if margin is None else f" ± {margin:.3f}"
        return f"all of it: {self.whole_pilot_error:.3f}{more}"

    def plot(self, title: str = "") -> "Figure":
        """Draw the error over ε with its spread, beside guessing and the pilot alone."""
        from crowdml.simulation.advice.plot import draw_epsilons

        return draw_epsilons(self, title)

    def _repr_html_(self) -> str:
        return html_table(
            ["", "error", "range"],
            self.comparison,
            sentences=[self.sentence, self.own_sentence, self.unknown],
            marked=3 + self.options.index(self.recommended),
        )


def _row(name: str, option: EpsilonOption) -> tuple[str, str, str]:
    return name, f"{option.error:.3f}", f"{option.low:.3f} to {option.high:.3f}"
