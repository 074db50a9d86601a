"""Put an advice into sentences: how well an option learns, and which option would be better."""

import math
from collections.abc import Sequence

from crowdml.protocol import listed
from crowdml.simulation.advice.advice import (
    LIARS_SIMULATED,
    MOST_TIMES,
    ExpectedCrowd,
    HardshipCost,
    PlanOption,
)

FAR_BETTER = 0.05
"""An error that is lower by less than this is not worth another setting."""

VERDICTS = {"well": 0.9, "something": 0.5, "hardly": -math.inf}
"""The least share that each verdict needs of what all data in one place learn beyond guessing."""

LEARNS = {
    "well": "learns well",
    "something to well": "learns something, or well",
    "something": "learns something",
    "hardly to something": "will hardly learn, or learns something",
    "hardly to well": "may learn well or hardly at all",
    "hardly": "will hardly learn",
}
HARDSHIPS = {
    "leaving": "devices that leave early",
    "delay": "slow messages",
    "skew": "people who differ in their labels",
    "spread": "people who differ in their number of samples",
}


def _setting(option: PlanOption) -> str:
    times = "once" if option.checkins == 1 else f"{option.checkins} times"
    samples = "1 sample" if option.batch == 1 else f"{option.batch} samples"
    return f"with {option.mechanism} and {samples} a check-in, {times}"


def judge(guess: float, central: float, option: PlanOption) -> str:
    """Say how well an option learns: a key of `LEARNS`, with two verdicts where runs differ so.

    >>> def option(low: float, high: float) -> PlanOption:
    ...     return PlanOption("direction", 1, 1, 0.2, 0.0, low, high, "person", 1.0, None, 1)
    >>> judge(0.5, 0.1, option(0.18, 0.22)), judge(0.5, 0.1, option(0.12, 0.22))
    ('something', 'something to well')
    """
    worst, best = (judge_error(guess, central, error) for error in (option.high, option.low))
    return best if best == worst else f"{worst} to {best}"


def judge_error(guess: float, central: float, error: float) -> str:
    """Say how well a run with this error has learnt: a key of `VERDICTS`."""
    learnt = (guess - error) / max(guess - central, 1e-9)
    return next(verdict for verdict, above in VERDICTS.items() if learnt > above)


def costs_sentence(costs: Sequence[HardshipCost]) -> str:
    """Say what each hardship of the crowd costs the task as it is."""
    parts = [f"{HARDSHIPS[one.hardship]} cost {one.cost:+.3f}" for one in costs]
    return f"Of this error, {listed(parts, 'and')}." if parts else ""


def liars_sentence(option: PlanOption, rivals: Sequence[PlanOption] = ()) -> str:
    """Say which error remains if some devices lie, and with the mechanisms of the rivals."""
    who = f"If {LIARS_SIMULATED:.0%} of the devices lie as hard as a server lets them"
    others = [
        f"{rival.mechanism} {rival.error_with_liars:.3f}"
        for rival in rivals
        if rival.error_with_liars is not None and rival.mechanism != option.mechanism
    ]
    rest = f", with {listed(others, 'and')}" if others else ""
    return f"{who}, the error is {option.error_with_liars:.3f}{rest}."


def expectation(
    simulated: int, expected: int, guess: float, central: float, option: PlanOption
) -> str:
    """Say which error the crowd should reach with an option."""
    learns = LEARNS[judge(guess, central, option)]
    part = simulated < expected
    who, of = ("A part of this crowd", f"{simulated:,} of ") if part else ("This crowd", "")
    return (
        f"{who} {learns}: {_setting(option)}, {of}{expected:,} "
        f"{'device' if expected == 1 else 'devices'} should reach an error of {option.error:.3f} "
        f"({option.low:.3f} to {option.high:.3f} in nine runs of ten; guessing {guess:.3f}, all "
        f"data in one place {central:.3f})."
        f"{' All of them should do better.' if part else ''}"
    )


def clearly_better(other: PlanOption, own: PlanOption) -> bool:
    """Decide whether an option is worth leaving the task's own settings for."""
    return other.error < own.error - FAR_BETTER


def what_is_better(own: PlanOption, *others: PlanOption) -> str:
    """Name the first of the others that is clearly better than the task's own settings, if any."""
    for other in others:
        if clearly_better(other, own):
            less = other.protects == "sample" and own.protects == "person"
            promise = "With a promise per sample only, the same crowd" if less else "The same crowd"
            return f" {promise} should reach {other.error:.3f} {_setting(other)}."
    return ""


def sentence_of(
    expected: ExpectedCrowd,
    reaches: str,
    best: PlanOption,
    options: list[PlanOption],
    target: float | None,
    needed: int | None,
) -> str:
    """Say what the recommended option reaches, what limits it, and what a target error needs."""
    words = [reaches]
    samplewise = min((o for o in options if o.protects == "sample"), key=lambda o: o.error,
                     default=None)  # fmt: skip
    if samplewise and best.protects == "person":
        words.append(what_is_better(best, samplewise).strip())
    if expected.skew is not None and expected.skew < 1 and best.protects == "person":
        words.append("People who differ much in their labels make whole-person privacy learn more "
                     "slowly.")  # fmt: skip
    if target is not None:
        words.append(
            f"An error of {target:g} needs about {needed:,} devices, which reach it in nine runs "
            "of ten."
            if needed
            else f"An error of {target:g} was not reached with {MOST_TIMES} times as many devices."
        )
    return " ".join(filter(None, words))
