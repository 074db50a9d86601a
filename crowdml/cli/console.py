"""Write tables, colours and progress to the terminal."""

from collections.abc import Iterable
from typing import Any

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from crowdml.visible import visible


class Console(rich.console.Console):
    """Print tables, colours and progress, whose text cannot control the terminal.

    Brackets and numbers in a text are printed unchanged, unless the caller asks for markup.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "highlight": False, "emoji": False} | options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else _shown(segment)


def _shown(segment: Segment) -> Segment:
    # A line break here belongs to the layout: line breaks in values are already escaped.
    return Segment("\n".join(map(visible, segment.text.split("\n"))), segment.style)
