"""Describe in words what a crowd should reach, as `crowdml plan` has simulated it."""

import msgspec

from crowdml.portal.words.language import say
from crowdml.portal.words.plain import count, percent, say_count

VERDICTS = {
    "well": "This crowd should learn well.",
    "something to well": "This crowd should learn something, or well.",
    "something": "This crowd should learn something.",
    "hardly to something": "This crowd may learn something, or hardly anything.",
    "hardly to well": "This crowd may learn well, or hardly anything: it differs from run to run.",
    "hardly": "This crowd will hardly learn.",
}
WITHOUT = {
    "leaving": "If no device left early, the error would be {error}.",
    "delay": "If messages came at once, the error would be {error}.",
    "skew": "If all people gave all answers, the error would be {error}.",
    "spread": "If all people had the same number of samples, the error would be {error}.",
}
"""A sentence about the error without each hardship."""


class PlannedOption(msgspec.Struct, frozen=True):
    """Hold settings of a task, the expected error, and the range in which nine runs of ten end.

    Args:
        error_with_liars: The error if one device in ten lies; None where that is not known.
    """

    mechanism: str
    batch: int
    checkins: int
    error: float
    low: float
    high: float
    error_with_liars: float | None = None

    @property
    def words(self) -> str:
        once = say("with one check-in of {samples} from each device")
        often = say("with {checkins} of {samples} each from each device")
        return (once if self.checkins == 1 else often).format(
            checkins=say_count(self.checkins, "check-in"), samples=say_count(self.batch, "sample")
        )


class PlannedCost(msgspec.Struct, frozen=True):
    """Hold one hardship of the crowd, and the error without it."""

    hardship: str
    error: float

    @property
    def words(self) -> str:
        return say(WITHOUT[self.hardship], error=percent(self.error, 1))


class Expectation(msgspec.Struct, frozen=True):
    """Hold the part of the plan's JSON that the pages show.

    Args:
        own: The expected result of the task's own settings.
        better: The recommended settings, if they are clearly better than the task's own.
        devices: The number of devices expected; `simulated_devices` of them were simulated.
        costs: What each hardship of the crowd costs.
    """

    own: PlannedOption
    own_verdict: str
    better: PlannedOption | None
    guess_error: float
    central_error: float
    simulated_devices: int
    devices: int
    costs: list[PlannedCost] = []

    @property
    def words(self) -> str:
        verdict = say(VERDICTS[self.own_verdict])
        reach = say(
            "Simulated {setting}, {devices} reach an error of {error}, nine times in ten between "
            "{low} and {high}. Guessing has an error of {guess}, and with all data in one "
            "place it would be {central}.",
            setting=self.own.words,
            devices=say_count(self.simulated_devices, "device"),
            error=percent(self.own.error, 1),
            low=percent(self.own.low, 1),
            high=percent(self.own.high, 1),
            guess=percent(self.guess_error),
            central=percent(self.central_error),
        )
        more = say("All {n} should do better.", n=count(self.devices))
        parts = [verdict, reach, *([more] if self.devices > self.simulated_devices else ())]
        if self.own.error_with_liars is not None:
            lied = self.own.error_with_liars
            parts.append(
                say("If one device in ten lied, the error would be about the same.")
                if self.own.low <= lied <= self.own.high
                else say(
                    "If one device in ten lied, the error would be {error}.", error=percent(lied, 1)
                )
            )
        return " ".join([*parts, *(cost.words for cost in self.costs)])
