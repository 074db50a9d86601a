"""Put an advice on a pilot into sentences."""

from crowdml.pilot import PilotSamples
from crowdml.protocol import listed
from crowdml.simulation.advice.pilot_options import EpsilonOption


def recommendation(
    epsilons: tuple[float, ...], best: EpsilonOption, largest: EpsilonOption, within: float
) -> str:
    """Write which ε is recommended, and why."""
    if best.epsilon == largest.epsilon:
        why = f"Every smaller ε that was tried has an error that is larger by more than {within:g}."
        return f"Recommended: ε = {best.epsilon:g}. {why}"
    others = listed([f"{epsilon:g}" for epsilon in epsilons], "and")
    return (
        f"Recommended: ε = {best.epsilon:g}. Of {others} it is the smallest whose error, "
        f"{best.error:.3f}, is within {within:g} of the error {largest.error:.3f} of ε = "
        f"{largest.epsilon:g}."
    )


def verdict_sentence(who: str, pilot_error: float, own: EpsilonOption, remedy: str) -> str:
    """Say in one sentence what the crowd adds at the task's ε.

    Args:
        who: The crowd, as "300 people".
        remedy: What to do where the crowd adds nothing.
    """
    crowd, before, after = f"{who} at ε = {own.epsilon:g}", f"{pilot_error:.2f}", f"{own.error:.2f}"
    if before == after:
        before, after = f"{pilot_error:.3f}", f"{own.error:.3f}"
    digits = len(after) - 2
    change = f"from {before} to {after} ({own.low:.{digits}f} to {own.high:.{digits}f})"
    match own.verdict:
        case "improves":
            return f"{crowd} improve the pilot {change}."
        case "unclear":
            return f"{crowd} may improve the pilot {change}; more rows would tell."
        case "nothing":
            return f"{crowd} add nothing to your pilot; {remedy}."
        case "worsens":
            return f"{crowd} make the pilot worse, {change}; {remedy}."


def what_to_do(enough: int | None, most: int | None) -> str:
    """Write how many people to ask instead.

    Args:
        enough: The people who would improve the pilot; None if no crowd that was tried did.
        most: The largest crowd that was tried; None if none was.
    """
    if enough is not None:
        return f"ask {enough:,}, or do not ask"
    if most is not None:
        return f"nor do {most:,} who draw from the same rows"
    return "ask many more, or do not ask"


def target_sentence(target: float, needed: int | None, most: int, epsilon: float) -> str:
    """Write how many people a target error needs."""
    if needed == 0:
        return f"The pilot alone has an error of at most {target:g}."
    if needed is None:
        return f"An error of {target:g} was not reached with {most:,} people at ε = {epsilon:g}."
    return (
        f"An error of {target:g} needs about {needed:,} people at ε = {epsilon:g}, who reach it in "
        "nine runs of ten."
    )


def what_is_unknown(
    pilot: PilotSamples, devices: int, start_rows: int | None, cross_fitted: bool
) -> str:
    """Write what the rows cannot show."""
    rows, people = len(pilot.y), pilot.n_people
    if people is None:
        words = (
            f"The {rows:,} rows do not say whose they are, so they do not show how different "
            f"{devices:,} people are."
        )
    else:
        them = "1 person" if people == 1 else f"{people:,} people"
        words = f"A pilot of {them} does not show how different {devices:,} are."
    if cross_fitted:
        return (
            f"{words} Simulated people draw from two fifths of the rows; real people bring new "
            "ones, so a real crowd may add more."
        )
    other = "" if start_rows is None else f", which had {start_rows:,}"
    return (
        f"{words} These {rows:,} rows are not the pilot of the start{other}: every crowd starts "
        "from the task's start, and the errors are too small if the start has seen some of them."
    )
