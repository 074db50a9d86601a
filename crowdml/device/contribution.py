"""Say what became of a participant's check-ins, from the task's public statistics."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from crowdml.errors import Unreachable
from crowdml.phrase import Phrase
from crowdml.protocol import Estimate, Statistics, is_precise_enough, share_range


class PastError(NamedTuple):
    """Hold the error of the crowd's model after `version` check-ins, as it was estimated then."""

    version: int
    value: float
    margin: float


def read_errors(table: bytes) -> list[PastError]:
    r"""Read the table of a task's errors, as the portal writes it in CSV.

    Raises:
        Unreachable: The table is not one of three numbers a line below a line of names.

    >>> read_errors(b"checkins,error,margin\r\n20,0.25,0.1\r\n")
    [PastError(version=20, value=0.25, margin=0.1)]
    """
    try:
        rows = [map(float, line.split(",")) for line in table.decode().split()[1:]]
        found = [PastError(int(version), value, margin) for version, value, margin in rows]
    except (ValueError, OverflowError) as error:
        raise Unreachable(f"the server's answer makes no sense: {error}.") from error
    for each in found:
        if each.version < 0 or not math.isfinite(each.value) or not each.margin >= 0:
            raise Unreachable(f"the server's answer makes no sense: an error of {each.value}.")
    return found


def describe_contribution(
    mine: Sequence[int], now: Statistics, errors: Sequence[PastError]
) -> tuple[Phrase, ...]:
    """Describe which check-ins were this participant's, and how the crowd's error changed since.

    No change is claimed where the two bands overlap.

    Args:
        mine: Which check-ins of the task were the participant's, the first one first.
        errors: The task's errors, the oldest first.
    """
    if not mine:
        return ()
    since = () if mine[0] >= now.version else (_since(mine[0], now.error, errors),)
    return _yours(mine, now), *since


def _yours(mine: Sequence[int], now: Statistics) -> Phrase:
    first, n, total = mine[0], len(mine), max(now.version, mine[-1])
    if n == 1 and now.state.final:
        return Phrase("Yours was check-in {first} of {total}.", first=first, total=total)
    if n == 1:
        return Phrase("Yours was check-in {first} of {total} so far.", first=first, total=total)
    if now.state.final:
        return Phrase(
            "{n} of {total} check-ins were yours, the first was number {first}.",
            n=n,
            total=total,
            first=first,
        )
    return Phrase(
        "{n} of {total} check-ins so far were yours, the first was number {first}.",
        n=n,
        total=total,
        first=first,
    )


def _since(first: int, now: Estimate | None, errors: Sequence[PastError]) -> Phrase:
    if now is None or not is_precise_enough(now):
        return Phrase("How often the crowd’s model is wrong is not known.")
    then = max((each for each in errors if each.version <= first), default=None)
    if then is None or not is_precise_enough(Estimate(then.value, then.margin)):
        return Phrase(
            "Now {now} of the model’s predictions are wrong.",
            now=share_range(now.value, now.margin),
        )
    shares = (min(max(each.value, 0.0), 1.0) for each in (then, now))  # noise can move them outside
    before, after = (math.floor(100 * share + 0.5) for share in shares)
    if abs(then.value - now.value) > then.margin + now.margin and before != after:
        return Phrase(
            "Since then the crowd’s error went from about {before} % to about {after} % ({range}).",
            before=before,
            after=after,
            range=share_range(now.value, now.margin),
        )
    return Phrase(
        "When you checked in, {then} of the model’s predictions were wrong, now {now} are. That is "
        "too close to tell whether it has become better.",
        then=share_range(then.value, then.margin),
        now=share_range(now.value, now.margin),
    )
