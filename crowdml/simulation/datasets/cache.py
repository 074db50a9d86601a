"""Keep downloaded files, and arrays that take long to compute, in the user's cache."""

import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

import numpy as np
import numpy.typing as npt


def cache_folder() -> Path:
    """Return `$XDG_CACHE_HOME/crowdml`, or `~/.cache/crowdml`."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "crowdml"


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that appears under its name when complete, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part", delete=False) as file:
        try:
            yield file
            file.close()
            os.replace(file.name, path)
        except BaseException:
            file.close()
            os.unlink(file.name)
            raise


def cached_arrays(
    key: str, compute: Callable[[], dict[str, npt.NDArray[np.float32]]]
) -> dict[str, npt.NDArray[np.float32]]:
    """Return what `compute` returns, cached under the key.

    A damaged or unwritable cache only costs time.
    """
    path = cache_folder() / "computed" / f"{key}.npz"
    broken = OSError, ValueError, EOFError, zipfile.BadZipFile
    with suppress(*broken), path.open("rb") as kept, np.load(kept, allow_pickle=False) as archive:
        return dict(archive)
    arrays = compute()
    with suppress(OSError), new_file(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    return arrays
