"""Single values of a sample: read from text, and shown in errors."""

import math
from collections.abc import Sequence

from crowdml.errors import InvalidSample

__all__ = ["feature", "is_number", "quoted", "separators", "target_of"]

LONGEST_QUOTE = 40
"""Characters of a value that an error shows."""


def target_of(value: object, labels: Sequence[str]) -> float:
    """A label's number, by its name or its number, or a real target."""
    if value in labels:
        return float(list(labels).index(str(value)))
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        rule = f"one of {', '.join(labels)} or its number" if labels else "a number"
        raise InvalidSample(f"y must be {rule}, found {quoted(value)}.") from None


def feature(cell: str) -> float:
    """A finite number, or `InvalidSample`."""
    if not is_number(cell) or not math.isfinite(float(cell)):
        raise InvalidSample(f"features must be finite numbers, found {quoted(cell)}.")
    return float(cell)


def is_number(field: str) -> bool:
    """Tell whether a cell holds a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def quoted(value: object) -> str:
    """A value as errors show it, which is never longer than a few words."""
    text = repr(value)
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"


def separators(row: list[str]) -> str:
    """What to add to an error about a row whose columns may be separated by something else."""
    for character, name in ((";", "semicolons"), ("\t", "tabs")):
        if any(character in cell for cell in row):
            return f" Columns are separated by commas, and these look like {name}: replace them."
    return ""
