"""Define the content of one message of a sensor app, for every app."""

import math
from typing import Any, ClassVar, NamedTuple, Protocol

import msgspec

from crowdml.errors import InvalidSample

SECOND = 1_000_000_000
"""Nanoseconds: times of messages are whole numbers, so that nothing is lost in sums."""


class SensorReading(NamedTuple):
    """Hold one number of a sensor, and the time of its reading in nanoseconds."""

    time: int
    value: float


class LabelChange(NamedTuple):
    """Change the label from this time on, in nanoseconds; an empty text means no label."""

    time: int
    text: str


class Batch(NamedTuple):
    """Hold the readings and labels of one message.

    Args:
        stream: Which clock the times are of: a phone, or a session of it.
        session: A new session begins without the labels of the one before.
        origin: The time that counts as second 0; None for the stream's first reading.
        offset: What to add to the stream's times for those of this machine's clock.
        whole: Whether these are all readings of the session, so that its clock can be seen to
            have begun anew.
        foreign: Names of sensors that the task does not read.
        running: Whether the stream's clock runs, so that its newest reading shows its current time.
    """

    stream: str
    readings: list[SensorReading]
    labels: tuple[LabelChange, ...] = ()
    session: str = ""
    origin: int | None = None
    offset: int = 0
    whole: bool = False
    foreign: tuple[str, ...] = ()
    running: bool = True

    @property
    def latest(self) -> int:
        """Return the latest time of a reading or a label; 0 if there is neither."""
        times = [reading.time for reading in self.readings]
        return max(times + [label.time for label in self.labels], default=0)


class Format(Protocol):
    """Read messages in the form in which an app writes them.

    Args:
        kind: The task's sensor, one of `crowdml.protocol.SENSORS`.

    Attributes:
        kinds: The sensors that the app has.
        sources: Where such messages come from: `http`, `mqtt`, `phyphox`, `-`.
        lateness: Seconds for which readings are held back, in case earlier ones come after them.
        forgotten: Whether the app forgets a message once it is taken, so that its readings have to
            be on disk by then.
        advice: What to switch on in the app.
    """

    kinds: ClassVar[frozenset[str]]
    sources: ClassVar[frozenset[str]]
    lateness: ClassVar[float]
    forgotten: ClassVar[bool]
    advice: ClassVar[str]

    def __init__(self, kind: str) -> None: ...

    def parse(self, body: bytes, arrival: int, topic: str = "") -> Batch:
        """Read a message that arrived at this time, in nanoseconds.

        Raises:
            InvalidSample: It is not one of the app's messages.
        """
        ...


def read_document(body: bytes, expected: str) -> dict[str, Any]:
    """Return the JSON object of a message."""
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidSample(f"expected {expected}, found {shown(body)} ({error}).") from error


def shown(body: bytes) -> str:
    """Return the start of a message, quoted, for a sentence about it."""
    return repr(body[:60].decode(errors="replace"))


def number_in(value: object) -> float:
    """Return a finite number, from a JSON number or from a text; nan for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return math.nan
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def length(parts: list[object]) -> float:
    """Return the length of a vector; nan if one of its parts is not a finite number."""
    return math.hypot(*(number_in(part) for part in parts)) if parts else math.nan
