"""What travels between device and server. A raw sample has no type here, so it cannot travel."""

from enum import StrEnum
from typing import Annotated, Literal

import msgspec

__all__ = [
    "NO_NEWLINE",
    "TERMS_HEADER",
    "Checkin",
    "CheckinAnswer",
    "Checkout",
    "Enrol",
    "Enrolled",
    "Estimate",
    "State",
    "Statistics",
    "TaskList",
    "TaskView",
    "Version",
]

TERMS_HEADER = "Crowdml-Terms"
"""The header of a check-out with the hash of the terms now in force."""

LARGEST = 2**31 - 1
NO_NEWLINE = r"^(?!.*\n)"
"""In Python, `$` alone would let a line feed follow."""

Version = Annotated[
    int, msgspec.Meta(ge=0, description="the number of check-ins that w has taken in, 0 or more")
]
Count = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


class State(StrEnum):
    """Where a task is. The last three are final: a device that sees one stops by itself."""

    RUNNING = "running"
    PAUSED = "paused"
    REACHED = "reached"
    EXHAUSTED = "exhausted"
    STOPPED = "stopped"

    @property
    def final(self) -> bool:
        return self in (State.REACHED, State.EXHAUSTED, State.STOPPED)


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From a device: a field that the server does not know is an error."""


class Answer(msgspec.Struct, frozen=True):
    """From the server: a device skips fields that it does not know, so answers can grow."""


class TaskView(Answer, frozen=True):
    """A public description of a task.

    `terms` is the text to agree to, JSON inside a string; `terms_sha256` is the hash of its
    UTF-8 bytes. Everything that a device does follows from that text.
    """

    name: str
    title: str
    objective: str
    state: State
    private: bool
    enrolment: Literal["open", "invite"]
    algorithm: str
    version: Version
    devices: int
    terms: str
    terms_sha256: str


class TaskList(Answer, frozen=True):
    tasks: tuple[TaskView, ...]


class Enrol(Request, frozen=True):
    """A request to join; the hash says which terms were agreed to."""

    terms: str
    invite: str | None = None


class Enrolled(Answer, frozen=True):
    """The device's name and its secret token, which is shown this once."""

    device: str
    token: str


class Checkout(Answer, frozen=True):
    """w, as base64 of little-endian float32."""

    version: Version
    state: State
    parameters: bytes


class Checkin(Request, frozen=True):
    """ĝ, n_s, n̂_e and n̂_y, sanitised.

    Args:
        id: Random and new for each check-in; a retry repeats the id and all other bytes.
        version: That of the parameters the gradient was computed on.
        terms: The hash of the terms the device has pinned.
        samples: n_s, all samples of the minibatch.
        heldout: How many of them were set aside for counting errors.
        errors: n̂_e, with noise; may be negative.
        labels: n̂_y for each class, with noise; empty for a real target.
        grid: A gradient value is its integer times 2^grid.
        gradient: ĝ, as base64 of little-endian int32.
    """

    id: Annotated[
        str,
        msgspec.Meta(
            pattern=NO_NEWLINE + r"[A-Za-z0-9_-]{16,64}$",
            description="16 to 64 letters, digits, hyphens and underscores",
        ),
    ]
    version: Version
    terms: Annotated[
        str,
        msgspec.Meta(
            pattern=NO_NEWLINE + r"[0-9a-f]{64}$",
            description="a SHA-256 in 64 lower-case hexadecimal digits",
        ),
    ]
    samples: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    heldout: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
    errors: Count
    labels: Annotated[tuple[Count, ...], msgspec.Meta(max_length=1000)]
    grid: Annotated[int, msgspec.Meta(ge=-1000, le=1000)]
    gradient: bytes


class CheckinAnswer(Answer, frozen=True):
    """Sent after the commit. `version` counts this check-in; a duplicate gets its first answer."""

    version: Version
    status: Literal["applied", "duplicate"]


class Estimate(Answer, frozen=True):
    """A value estimated from noisy counts; ± `margin` covers the truth with 95 % confidence."""

    value: float
    margin: float


class Statistics(Answer, frozen=True):
    """Differentially private by themselves: all of it comes from sanitised check-ins."""

    state: State
    version: Version
    devices: int
    active_devices: int
    samples: int
    error: Estimate | None
    recent_error: Estimate | None
    labels: tuple[Estimate, ...]
    staleness_mean: float
    staleness_max: int
    checkins_per_minute: float
    epsilon_per_sample: float | None
    max_updates: int
    target_error: float | None
