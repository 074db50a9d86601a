"""Remember which numbers of check-ins each device has in the log."""

from array import array
from collections.abc import Iterable

from crowdml.server.database import LogEntry

BLOCK_DEVICES = 64


class SentNumbers:
    """Hold the highest number of each device in the log, and the count of its numbers there.

    Device numbers are dense, so they are kept in blocks of 64 devices, at eight bytes a device.

    >>> sent = SentNumbers()
    >>> sent.add(device=7, number=3)
    >>> sent.highest_and_count(7), sent.highest_and_count(8)
    ((3, 1), (0, 0))
    """

    def __init__(self, rows: Iterable[tuple[int, int, int]] = ()) -> None:
        """Start from rows of a device, its highest number and how many it has sent."""
        self._blocks: dict[int, array[int]] = {}
        for device, highest, n_sent in rows:
            block, at = self._block(device)
            block[at], block[at + 1] = highest, n_sent

    def highest_and_count(self, device: int) -> tuple[int, int]:
        """Return the highest number of a device in the log, and how many numbers it has there."""
        block = self._blocks.get(device // BLOCK_DEVICES)
        if block is None:
            return 0, 0
        at = device % BLOCK_DEVICES * 2
        return block[at], block[at + 1]

    def add(self, device: int, number: int) -> None:
        block, at = self._block(device)
        block[at], block[at + 1] = number, block[at + 1] + 1

    def add_all(self, entries: Iterable[LogEntry]) -> None:
        """Add check-ins that are in the log."""
        for entry in entries:
            if entry.number is not None:
                self.add(entry.device, entry.number)

    def _block(self, device: int) -> tuple["array[int]", int]:
        number = device // BLOCK_DEVICES
        if number not in self._blocks:
            self._blocks[number] = array("I", bytes(4 * 2 * BLOCK_DEVICES))
        return self._blocks[number], device % BLOCK_DEVICES * 2
