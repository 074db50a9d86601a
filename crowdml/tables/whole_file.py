"""Read a file that a person has named, if its size is one that can be meant."""

from pathlib import Path

from crowdml.errors import InvalidInput
from crowdml.tables.arrays import MOST_BYTES


def read_file(file: Path, name: object, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a file; `InvalidInput` if there are more than `most`.

    No more is read: a device such as /dev/zero never ends.

    Args:
        name: What the error calls the file.
    """
    with file.open("rb") as opened:
        data = opened.read(most + 1)
    if len(data) > most:
        raise InvalidInput(f"{name} must have at most {most:,} bytes, found more.")
    return data
