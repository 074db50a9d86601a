"""The command line."""

import sys

from crowdml.cli.app import app
from crowdml.errors import CrowdmlError

__all__ = ["app", "main"]


def main() -> None:
    """Run a command. Exit codes: 0 done, 1 a clear error in one line, 2 wrong usage."""
    try:
        app()
    except CrowdmlError as error:
        print(f"crowdml: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
