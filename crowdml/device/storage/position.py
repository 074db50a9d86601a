"""Store the position up to which a source of samples was taken."""

from dataclasses import dataclass

from crowdml.device.storage.account import SampleMark


@dataclass(frozen=True)
class Position:
    """Hold the position in a source up to which it was taken: the number of lines, and their hash.

    A mark distinguishes a sample from samples taken under another name; a stream is the memory of a
    live source.
    """

    path: str
    lines: int
    sha256: str
    mark: SampleMark | None = None
    stream: bytes | None = None


class TakenBefore(Exception):
    """Report that a sample of a source was taken before; nothing is changed."""
