"""Clear words when an optional part is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

from crowdml.errors import CrowdmlError


@contextmanager
def needs(*extras: str) -> Iterator[None]:
    """Say which extra to install if an import inside fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise CrowdmlError(
            f"this needs {error.name}, which is not installed. "
            f"Run: pip install 'crowdml[{','.join(extras)}]'"
        ) from error
