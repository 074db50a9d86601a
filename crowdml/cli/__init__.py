"""The command line."""

import sys
from typing import TYPE_CHECKING

import crowdml
from crowdml.cli.interruption import raised_signals, signal_code
from crowdml.cli.output import say
from crowdml.errors import CrowdmlError, DoubtfulRows
from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.cli.commands import app

__all__ = ["app", "main"]

__getattr__ = lazy(__name__)

DOUBTFUL = 8
"""How `crowdml device run` ends if nobody says whether to go on with rows that look wrong."""


def main() -> None:
    """Run a command. Exit codes: 0 done, 1 clear errors, one in a line, 2 wrong usage.

    130 and 143 are Ctrl-C and SIGTERM; `crowdml device run` has more of them.
    """
    try:
        if sys.argv[1:] == ["--version"]:
            # The version is printed without typer, which takes longer to load than all else here.
            say(crowdml.__version__)
            sys.exit(0)
        from crowdml.cli.commands import app

        with raised_signals():
            # Otherwise help would call the command by the program that started Python.
            app(prog_name="crowdml")
    except BaseException as error:
        lines, code = _ending(error)
        say(*(f"crowdml: {line}" for line in lines), err=True)
        sys.exit(code)


def _ending(error: BaseException) -> tuple[tuple[str, ...], int]:
    """Return what to say about the end of a command, and its exit code."""
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
            return ("this needs more memory than there is. Ask for less.",), 1
    raise error
