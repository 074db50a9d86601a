"""Read y of a sample: a label by its name, or a number."""

from collections.abc import Sequence
from contextlib import suppress
from numbers import Integral

from crowdml.errors import InvalidSample
from crowdml.privacy import check_target
from crowdml.tables import quoted

MOST_LABELS = 10
"""Labels that an error lists."""


def label_or_number(value: object, labels: Sequence[str], name: str = "y") -> str | float:
    """Return the name of a label, or a real target where there are no labels.

    A label is known by its name alone, never by its place in the list. Names that are numbers are
    matched as text: 1 is the label "1", and 1.0 is not. Errors call y by `name`.

    >>> label_or_number(1, ["1", "2", "3"]), label_or_number(" walk", ["still", "walk"])
    ('1', 'walk')
    >>> label_or_number("2.5", [])
    2.5
    """
    if not labels:
        with suppress(TypeError, ValueError, OverflowError):
            if not isinstance(value, bool):
                return float(value)  # type: ignore[arg-type]
        raise InvalidSample(f"{name} must be a number, found {quoted(value)}.")
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    label = str(value).strip() if whole or isinstance(value, str) else None
    if label in labels:
        return str(label)
    more = ", …" if len(labels) > MOST_LABELS else ""
    raise InvalidSample(
        f"{name} must be one of {', '.join(labels[:MOST_LABELS])}{more}, found {quoted(value)}."
        f"{_hint(value, labels)}"
    )


def target_of(value: object, labels: Sequence[str]) -> float:
    """Return the number of a label in the list, or a real target."""
    y = label_or_number(value, labels)
    return float(list(labels).index(y) if isinstance(y, str) else y)


def _hint(value: object, labels: Sequence[str]) -> str:
    """Describe what to write instead of a number."""
    with suppress(TypeError, ValueError, OverflowError):
        number = float(value)  # type: ignore[arg-type]
        if number.is_integer() and str(int(number)) in labels:
            return f" Labels are matched as text: write {int(number)}."
        if not isinstance(value, bool):
            return " Give the name of a label, not its number."
    return ""


def typed_label(text: str, labels: Sequence[str]) -> str | float | None:
    """Return the label that a person has written, in any case; None for an empty text.

    A real target keeps the rule of targets: it is finite, and not in a wrong unit.

    >>> typed_label(" walking ", ["Still", "Walking"]), typed_label("", ["Still", "Walking"])
    ('Walking', None)
    """
    text = text.strip()
    if not text:
        return None
    same = [label for label in labels if label.strip().casefold() == text.casefold()]
    exact = text if text in labels or len(same) != 1 else same[0]
    y = label_or_number(exact, labels, "the label")
    if not labels:
        check_target(y, 0, "the label")
    return y
