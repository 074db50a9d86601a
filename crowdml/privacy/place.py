"""Where a check-in belongs."""

import hashlib
from typing import NamedTuple

WORD = 2**32


class Place(NamedTuple):
    """Where a check-in belongs: all of it is public, and none of it chosen by the device."""

    terms_sha256: str
    device: str
    number: int

    def seed(self, *purpose: str) -> bytes:
        """32 bytes that anyone can compute, and that the device cannot choose."""
        words = "\n".join((self.terms_sha256, self.device, str(self.number), *purpose))
        return hashlib.sha256(words.encode()).digest()

    def draw(self, *purpose: str) -> int:
        """A whole number below `WORD`, from the seed.

        >>> Place("terms", "device", 1).draw()
        119621652
        """
        return int.from_bytes(self.seed(*purpose)[:4], "little")
