"""Identify a check-in by its key: the terms of its task, its device and its number."""

import hashlib
from typing import NamedTuple

WORD = 2**32


class CheckinKey(NamedTuple):
    """Identify a check-in by public values that the device does not choose."""

    terms_sha256: str
    device: str
    number: int

    def seed(self, *purpose: str) -> bytes:
        """Compute 32 bytes that anyone can compute, and that the device cannot choose."""
        words = "\n".join((self.terms_sha256, self.device, str(self.number), *purpose))
        return hashlib.sha256(words.encode()).digest()

    def draw(self, *purpose: str) -> int:
        """Return a whole number below `WORD`, taken from the seed.

        >>> CheckinKey("terms", "device", 1).draw()
        119621652
        """
        return int.from_bytes(self.seed(*purpose)[:4], "little")
