"""Run the demo and draw its last view: `python docs/demo_picture.py` writes docs/demo.svg."""

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from crowdml.cli.console import Console
from crowdml.cli.demo import explain
from crowdml.demo import Demo, DemoResult, run_demo
from crowdml.demo.view import Progress, draw

PICTURE = Path(__file__).parent / "demo.svg"


@contextmanager
def show_once(progress: Progress, console: Console) -> Iterator[None]:
    """Print the view only when the crowd has ended: a picture has no frames."""
    yield
    console.print(draw(progress))


def main() -> None:
    console = Console(file=io.StringIO(), record=True, width=78, force_terminal=True)
    console.print("[green]$[/green] make demo")

    def show(result: DemoResult, portal: str) -> None:
        explain(result, "activity", console)

    with tempfile.TemporaryDirectory() as folder, patch("crowdml.demo.demo.show_live", show_once):
        run_demo(Demo(folder=Path(folder) / "crowdml-demo"), console, show)
        text = console.export_svg(title="crowdml demo").replace(f"{folder}/", "")
    PICTURE.write_text(text)


if __name__ == "__main__":
    main()
