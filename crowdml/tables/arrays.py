"""Reading an archive of arrays that may be anything."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput


def read_arrays(source: bytes | Path, name: object) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an .npz file, which errors call `name`; `InvalidInput` for any other bytes."""
    try:
        file = source.open("rb") if isinstance(source, Path) else io.BytesIO(source)
        with file, np.load(file, allow_pickle=False) as archive:
            return {key: np.asarray(archive[key]) for key in archive.files}
    except OSError as error:
        raise InvalidInput(f"cannot read {name}: {error.strerror or error}.") from error
    # A damaged archive can fail in any part of its reading: zip, deflate, headers, sizes.
    except Exception as error:
        raise InvalidInput(
            f"{name} must be an .npz file of plain arrays, found one that is damaged or something "
            f"else ({type(error).__name__}: {error}). Copy or export it again."
        ) from error
