"""The terminal for tables, colours and progress."""

from collections.abc import Iterable
from typing import Any

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from crowdml.visible import visible


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
