"""Read an archive of arrays from an untrusted file."""

import io
import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from crowdml.errors import InvalidInput

MOST_BYTES = 300_000_000
"""The most bytes that arrays from elsewhere may have together, once they are unpacked."""

BYTES_PER_VALUE = 4
"""An archive may have one value for each of these bytes of its limit; text and flags count."""


def read_arrays(
    source: bytes | Path, name: object, most: int = MOST_BYTES
) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays of an .npz file, which errors call `name`.

    Args:
        source: A file of one's own, of any size, or bytes from elsewhere.
        name: What errors call it.
        most: The most bytes of all arrays together. Of bytes from elsewhere this is checked in the
            archive's directory and in the arrays' headers, before any array is read.
    """
    try:
        file = source.open("rb") if isinstance(source, Path) else io.BytesIO(source)
        with file:
            if isinstance(source, bytes):
                _check_sizes(file, name, most)
            with np.load(file, allow_pickle=False) as archive:
                return {key: np.asarray(archive[key]) for key in archive.files}
    except InvalidInput:
        raise
    except OSError as error:
        raise InvalidInput(f"cannot read {name}: {error.strerror or error}.") from error
    # A damaged archive can fail anywhere: zip, deflate, headers, sizes.
    except Exception as error:
        raise InvalidInput(
            f"{name} must be an .npz file of plain arrays, found one that is damaged or something "
            f"else ({type(error).__name__}: {error}). Copy or export it again."
        ) from error


def _check_sizes(file: IO[bytes], name: object, most: int) -> None:
    """Compare the sizes in the archive's directory, and each array's shape, with the bounds."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        found = sum(member.file_size for member in members)
        if found > most:
            raise InvalidInput(
                f"{name} must have at most {most:,} bytes of arrays, found {found:,}."
            )
        for member in members:
            with archive.open(member) as opened:
                magic = np.lib.format.MAGIC_PREFIX
                if opened.read(len(magic)) != magic:
                    continue  # not an array: NumPy returns it as bytes
                opened.seek(0)
                shape, dtype = _header(opened)
                header = opened.seek(0, io.SEEK_CUR)
            # An empty axis hides no length: a list of a billion empty lists is as large.
            n_values = math.prod(max(length, 1) for length in shape)
            if n_values > max(most // BYTES_PER_VALUE, 1):
                raise InvalidInput(f"{name} must have arrays of its size, found {shape}.")
            if header + math.prod(shape) * dtype.itemsize != member.file_size:
                raise ValueError(f"{member.filename} is not as long as it says")
    file.seek(0)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, _, dtype = read(file)
    return shape, dtype
