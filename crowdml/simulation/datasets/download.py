"""Download one file whose checksum is known in advance."""

import hashlib
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from crowdml.errors import InvalidInput, Unreachable
from crowdml.simulation.datasets.cache import new_file
from crowdml.simulation.notebook import ProgressBar

CHUNK_BYTES = 1 << 16
SILENT_SECONDS = 30.0
"""How long the server may stay silent."""


def download(url: str, path: Path, sha256: str, n_bytes: int) -> None:
    """Write the file at `url` to `path`, or leave nothing behind and say why.

    The file appears once it is complete and has this checksum; no more than its size is read.
    """
    digest, received = hashlib.sha256(), 0
    progress = ProgressBar(f"{path.name}, {n_bytes / 1e6:,.1f} MB")
    try:
        with urlopen(url, timeout=SILENT_SECONDS) as response, new_file(path) as file:  # noqa: S310
            while received <= n_bytes and (chunk := response.read(CHUNK_BYTES)):
                file.write(chunk)
                digest.update(chunk)
                received += len(chunk)
                progress(received, n_bytes)
            _check(url, received, n_bytes, digest.hexdigest(), sha256)
    except HTTPError as error:
        with error:
            raise Unreachable(f"{url} answered {error.code} {error.reason}.") from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise Unreachable(f"{url} could not be downloaded to {path}: {reason}.") from error


def _check(url: str, received: int, n_bytes: int, found: str, sha256: str) -> None:
    if received < n_bytes:
        raise Unreachable(
            f"{url} ended after {received:,} of {n_bytes:,} bytes. Try again for the whole file."
        )
    if found != sha256:
        raise InvalidInput(
            f"{url} must have the SHA-256 checksum {sha256}, found {found}. Nothing was kept; "
            "the address now holds another file, or it was changed on the way."
        )
