"""The answer of a sample, read from text."""

from collections.abc import Sequence

from crowdml.errors import InvalidSample
from crowdml.tables import quoted


def target_of(value: object, labels: Sequence[str]) -> float:
    """A label's number, by its name or its number, or a real target."""
    if value in labels:
        return float(list(labels).index(str(value)))
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        rule = f"one of {', '.join(labels)} or its number" if labels else "a number"
        raise InvalidSample(f"y must be {rule}, found {quoted(value)}.") from None
