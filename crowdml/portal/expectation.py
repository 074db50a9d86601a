"""What a crowd should reach, as `crowdml plan` has simulated it, in words."""

import msgspec

from crowdml.portal.language import say
from crowdml.portal.words import count, counted, percent

__all__ = ["Expectation", "Option"]

CLEARLY = 0.05
"""An error that is lower by less is not worth another setting."""


class Option(msgspec.Struct, frozen=True):
    """A way to run a task, and its error."""

    mechanism: str
    batch: int
    checkins: int
    error: float

    @property
    def words(self) -> str:
        once = say("with one check-in of {samples} from each device")
        often = say("with {checkins} of {samples} each from each device")
        return (once if self.checkins == 1 else often).format(
            checkins=counted(self.checkins, "check-in"), samples=counted(self.batch, "sample")
        )


class Expectation(msgspec.Struct, frozen=True):
    """The plan's JSON, as far as the pages tell it.

    Args:
        own: What the task's own settings should reach.
        recommended: What is best for whole people.
        guess_error: Of guessing.
        central_error: With all data in one place.
        simulated_devices: How many there were.
        devices: How many are expected.
    """

    own: Option
    recommended: Option
    guess_error: float
    central_error: float
    simulated_devices: int
    devices: int

    @property
    def better(self) -> Option | None:
        """What is clearly better than the task's own settings."""
        best = self.recommended
        return best if best.error < self.own.error - CLEARLY else None

    @property
    def words(self) -> str:
        learnt = (self.guess_error - self.own.error) / max(
            self.guess_error - self.central_error, 1e-9
        )
        verdict = (
            say("This crowd should learn well.")
            if learnt > 0.9
            else say("This crowd should learn something.")
            if learnt > 0.5
            else say("This crowd will hardly learn.")
        )
        reach = say(
            "Simulated {setting}, {devices} reach an error of {error}; guessing has {guess}, and "
            "all data in one place {central}.",
            setting=self.own.words,
            devices=counted(self.simulated_devices, "device"),
            error=percent(self.own.error),
            guess=percent(self.guess_error),
            central=percent(self.central_error),
        )
        more = say("All {n} should do better.", n=count(self.devices))
        return f"{verdict} {reach}{f' {more}' if self.devices > self.simulated_devices else ''}"
