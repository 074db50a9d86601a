"""Run the command line.

`python -m crowdml` and the program `crowdml` call `main`. A command reads options, calls the other
packages and prints; no other package imports it. Libraries are loaded when a command needs them.
"""

import sys
from typing import TYPE_CHECKING

import crowdml
from crowdml.cli.interruption import raised_signals, signal_code
from crowdml.cli.output import print_lines
from crowdml.errors import CrowdmlError, DoubtfulRows
from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.cli.commands import app

__all__ = ["app", "main"]

__getattr__ = lazy(__name__)

DOUBTFUL = 8
"""The exit code of `crowdml device run` if nobody decides about rows that look wrong."""


def main() -> None:
    """Run a command, and exit with its code.

    0 means done, 1 an error in one line (or a line for each error), 2 wrong usage, 130 Ctrl-C and
    143 SIGTERM. `crowdml device run` has further codes.
    """
    try:
        if sys.argv[1:] == ["--version"]:
            # Loading typer would take longer than everything else here.
            print_lines(crowdml.__version__)
            sys.exit(0)
        from crowdml.cli.commands import app

        with raised_signals():
            # Without `prog_name`, help would show the name of the program that started Python.
            app(prog_name="crowdml")
    except BaseException as error:
        lines, code = _ending(error)
        print_lines(*(f"crowdml: {line}" for line in lines), err=True)
        sys.exit(code)


def _ending(error: BaseException) -> tuple[tuple[str, ...], int]:
    """Return the lines to print at the end of a command, and its exit code."""
    code = signal_code(error)
    if code is not None:
        return (), code
    match error:
        case CrowdmlError():
            return error.lines, DOUBTFUL if isinstance(error, DoubtfulRows) else 1
        case OSError():
            about = f": {error.filename}" if error.filename else "."
            return (f"{error.strerror or error}{about}",), 1
        case MemoryError():
            return ("the command needs more memory than this machine has. Ask for less.",), 1
    raise error
