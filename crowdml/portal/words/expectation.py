"""What a crowd should reach, as `crowdml plan` has simulated it, in words."""

import msgspec

from crowdml.portal.words.language import say
from crowdml.portal.words.plain import count, counted, percent

__all__ = ["Expectation", "PlannedOption"]


class PlannedOption(msgspec.Struct, frozen=True):
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
        better: The recommended settings, if they are clearly better than the task's own.
        devices: How many are expected, of which `simulated_devices` were simulated.
    """

    own: PlannedOption
    own_verdict: str
    better: PlannedOption | None
    guess_error: float
    central_error: float
    simulated_devices: int
    devices: int

    @property
    def words(self) -> str:
        verdict = say(
            {
                "well": "This crowd should learn well.",
                "something": "This crowd should learn something.",
                "hardly": "This crowd will hardly learn.",
            }[self.own_verdict]
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
