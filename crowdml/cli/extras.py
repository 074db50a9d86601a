"""Report an optional dependency that is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

from crowdml.errors import CrowdmlError


@contextmanager
def require_extras(*extras: str) -> Iterator[None]:
    """Raise an error that names the extra to install, if an import inside fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise CrowdmlError(
            f"this command needs {error.name}, which is not installed. "
            f"Run: pip install 'crowdml[{','.join(extras)}]'"
        ) from error
