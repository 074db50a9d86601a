"""The command line."""

import sys

from crowdml.cli.app import app
from crowdml.cli.output import say
from crowdml.errors import CrowdmlError

__all__ = ["app", "main"]


def main() -> None:
    """Run a command. Exit codes: 0 done, 1 clear errors, one in a line, 2 wrong usage.

    `crowdml device run` has more of them.
    """
    try:
        app()
    except CrowdmlError as error:
        say(*(f"crowdml: {line}" for line in error.lines), err=True)
        sys.exit(1)
    except OSError as error:
        say(f"crowdml: {error.strerror or error}: {error.filename}", err=True)
        sys.exit(1)
    except MemoryError:
        say("crowdml: this needs more memory than there is. Ask for less.", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
