"""The command line."""

import sys
from typing import TYPE_CHECKING

import crowdml
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

    `crowdml device run` has more of them.
    """
    try:
        if sys.argv[1:] == ["--version"]:
            # The version is printed without typer, which takes longer to load than all else here.
            say(crowdml.__version__)
            sys.exit(0)
        from crowdml.cli.commands import app

        app()
    except CrowdmlError as error:
        say(*(f"crowdml: {line}" for line in error.lines), err=True)
        sys.exit(DOUBTFUL if isinstance(error, DoubtfulRows) else 1)
    except OSError as error:
        say(f"crowdml: {error.strerror or error}: {error.filename}", err=True)
        sys.exit(1)
    except MemoryError:
        say("crowdml: this needs more memory than there is. Ask for less.", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
