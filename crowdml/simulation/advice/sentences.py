"""What to say of an advice: how well an option learns, and what would be better."""

import math

from crowdml.simulation.advice.advice import MOST_TIMES, Gathering, Option

__all__ = ["clearly_better", "expectation", "judge", "sentence_of", "what_is_better"]

FAR_BETTER = 0.05
"""An error that is lower by less is not worth another setting."""

VERDICTS = {"well": 0.9, "something": 0.5, "hardly": -math.inf}
"""The share of what all data in one place learn beyond guessing that each verdict is above."""

LEARNS = {"well": "learns well", "something": "learns something", "hardly": "will hardly learn"}


def _setting(option: Option) -> str:
    times = "once" if option.checkins == 1 else f"{option.checkins} times"
    samples = "1 sample" if option.batch == 1 else f"{option.batch} samples"
    return f"with {option.mechanism} and {samples} a check-in, {times}"


def judge(guess: float, central: float, option: Option) -> str:
    """Say how well an option learns: a key of `VERDICTS`."""
    learnt = (guess - option.error) / max(guess - central, 1e-9)
    return next(verdict for verdict, above in VERDICTS.items() if learnt > above)


def expectation(simulated: int, expected: int, guess: float, central: float, option: Option) -> str:
    """Say which error the crowd should reach with an option."""
    learns = LEARNS[judge(guess, central, option)]
    part = simulated < expected
    who, of = ("A part of this crowd", f"{simulated:,} of ") if part else ("This crowd", "")
    return (
        f"{who} {learns}: {_setting(option)}, {of}{expected:,} "
        f"{'device' if expected == 1 else 'devices'} should reach an error of {option.error:.3f} "
        f"(guessing {guess:.3f}, all data in one place {central:.3f})."
        f"{' All of them should do better.' if part else ''}"
    )


def clearly_better(other: Option, own: Option) -> bool:
    """Decide whether an option is worth leaving the task's own settings for."""
    return other.error < own.error - FAR_BETTER


def what_is_better(own: Option, *others: Option) -> str:
    """Name the first of the others that is clearly better than the task's own settings, if any."""
    for other in others:
        if clearly_better(other, own):
            less = other.protects == "sample" and own.protects == "person"
            promise = "With a promise per sample only, the same crowd" if less else "The same crowd"
            return f" {promise} should reach {other.error:.3f} {_setting(other)}."
    return ""


def sentence_of(
    gathering: Gathering,
    reaches: str,
    best: Option,
    options: list[Option],
    target: float | None,
    needed: int | None,
) -> str:
    """Say what the recommended option reaches, what limits it, and what a target error needs."""
    words = [reaches]
    samplewise = min((o for o in options if o.protects == "sample"), key=lambda o: o.error,
                     default=None)  # fmt: skip
    if samplewise and best.protects == "person":
        words.append(what_is_better(best, samplewise).strip())
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
