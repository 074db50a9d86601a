"""The one door to the terminal: nothing that comes from elsewhere passes it as a command."""

import logging
import sys
from collections.abc import Iterable
from typing import Any

import msgspec
import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from crowdml.visible import visible, visible_json

__all__ = ["Console", "print_json", "say", "say_what_is_logged"]


def say(*lines: object, err: bool = False) -> None:
    """Lines for people; a line break within one is shown, and breaks nothing."""
    for line in lines:
        print(visible(line), file=sys.stderr if err else sys.stdout)


class Console(rich.console.Console):
    """Tables, colours and progress; what they show cannot steer the terminal.

    Its text is text: brackets and numbers in it are as they are, unless it is asked for markup.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "highlight": False, "emoji": False} | options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else _shown(segment)


def _shown(segment: Segment) -> Segment:
    # Line breaks are the layout's own, as those of values were shown before it.
    return Segment("\n".join(map(visible, segment.text.split("\n"))), segment.style)


class _Sayer(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage(), err=True)


def say_what_is_logged() -> None:
    """Warnings become lines for people."""
    logging.basicConfig(handlers=[_Sayer()], level=logging.WARNING)


def print_json(document: Any) -> None:
    """One JSON object on standard output; JSON has no infinity, so it is written "inf".

    >>> print_json({"epsilon": float("inf"), "checkins": [1, 2]})
    {"epsilon":"inf","checkins":[1,2]}
    """
    encoded = msgspec.json.encode(_finite(msgspec.to_builtins(document))).decode()
    print(visible_json(encoded))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return "inf" if value == float("inf") else value
