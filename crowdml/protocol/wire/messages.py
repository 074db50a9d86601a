"""Define what travels between device and server; a raw sample has no type, so it cannot travel."""

from enum import StrEnum
from functools import cache
from inspect import cleandoc
from typing import Annotated, Any, Literal, Protocol

import msgspec

from crowdml.phrase import Phrase
from crowdml.protocol.numbers_in_words import Estimate

TERMS_HEADER = "Crowdml-Terms"
"""The header of a check-out with the hash of the terms now in force."""

NO_NEWLINE = r"^(?!.*\n)"
"""In Python, `$` alone would let a line feed follow."""

VERSION = Phrase("the number of check-ins that w has taken in, 0 or more")
ID = Phrase("16 to 64 letters, digits, hyphens and underscores")
SHA256 = Phrase("a SHA-256 in 64 lower-case hexadecimal digits")


def in_own_words(words: Phrase, **rules: Any) -> msgspec.Meta:
    """Make rules for a field, with the words that describe what it must be."""
    return msgspec.Meta(**rules, description=str(words), extra={"words": words})


Version = Annotated[int, in_own_words(VERSION, ge=0)]
Id = Annotated[str, in_own_words(ID, pattern=NO_NEWLINE + r"[A-Za-z0-9_-]{16,64}$")]
Sha256 = Annotated[str, in_own_words(SHA256, pattern=NO_NEWLINE + r"[0-9a-f]{64}$")]


class State(StrEnum):
    """List the states of a task. The last three are final: a device that sees one stops."""

    RUNNING = "running"
    PAUSED = "paused"
    REACHED = "reached"
    EXHAUSTED = "exhausted"
    STOPPED = "stopped"

    @property
    def final(self) -> bool:
        return self in (State.REACHED, State.EXHAUSTED, State.STOPPED)

    @property
    def phrase(self) -> Phrase:
        """Complete "the task has ended: …", or "the task is …" while it has not."""
        return STATES[self]


STATES = {
    State.RUNNING: Phrase("running"),
    State.PAUSED: Phrase("paused"),
    State.REACHED: Phrase("its target error is reached"),
    State.EXHAUSTED: Phrase("all its check-ins are in"),
    State.STOPPED: Phrase("its owner stopped it"),
}


class ServerAnswer(msgspec.Struct, frozen=True):
    """Be the base of a server's answers; devices skip unknown fields, so answers can grow."""


class TaskView(ServerAnswer, frozen=True):
    """Describe a task in public.

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


class TaskList(ServerAnswer, frozen=True):
    """List the public tasks of a server."""

    tasks: tuple[TaskView, ...]


class Enrol(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ask to join; the hash names the terms that were agreed to."""

    terms: str
    invite: str | None = None


class Enrolled(ServerAnswer, frozen=True):
    """Hold the device's name and its secret token, which is shown only once."""

    device: str
    token: str


class Checkout(ServerAnswer, frozen=True, omit_defaults=True):
    """Hold parameters, as base64 of little-endian float32.

    Args:
        parameters: w, the newest iterate, where gradients are taken; with `role=evaluate` the
            exported model, whose mistakes are reported.
        exported: The exported model, where a check-in both trains and counts errors, and the
            exported model is not w.
    """

    version: Version
    state: State
    parameters: bytes
    exported: bytes | None = None


class Checkin(Protocol):
    """Hold what a mechanism sends, in an envelope.

    `number` and `samples` are None where the mechanism does not send them.
    """

    @property
    def id(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def terms(self) -> str: ...

    @property
    def number(self) -> int | None: ...

    @property
    def samples(self) -> int | None: ...


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """Hold what every check-in carries besides the payload.

    Args:
        id: Random and new for each check-in; a retry repeats the id and all other bytes.
        version: The version of the parameters that the gradient was computed on.
        terms: The hash of the terms that the device has pinned.
    """

    id: Id
    version: Version
    terms: Sha256


@cache
def checkin_type(payload_type: type[msgspec.Struct]) -> type[Any]:
    """Make the type of the check-in message of a payload type; bytes are written in base64.

    >>> from crowdml.privacy import DirectionPayload
    >>> checkin_type(DirectionPayload).__name__
    'DirectionCheckin'
    """
    about = [cleandoc(each.__doc__ or "") for each in (payload_type, Envelope)]
    return msgspec.defstruct(
        f"{payload_type.__name__.removesuffix('Payload')}Checkin",
        [(field.encode_name, field.type) for field in msgspec.structs.fields(Envelope)],
        bases=(payload_type,),
        module=__name__,
        namespace={"__doc__": "\n\n".join(about)},
        frozen=True,
        forbid_unknown_fields=True,
        kw_only=True,
    )


class CheckinAnswer(ServerAnswer, frozen=True):
    """Answer a check-in after its commit.

    `version` counts this check-in; a duplicate gets the first answer again.
    """

    version: Version
    status: Literal["applied", "duplicate"]


class Statistics(ServerAnswer, frozen=True):
    """Hold the statistics of a task, which are differentially private.

    All of them are computed from sanitised check-ins.

    `error` is the error of the current exported model: how often its predictions are wrong for
    people like the participants. It is null while too few reports measure it.
    `error_text` says the same in words, and `reports` is how many reports it is estimated from:
    check-ins that have sent how often the model was wrong. `samples` is null where devices do not
    send how many they used. Each ε says what is replaced: one sample, everything in a check-in, or
    everything that a person sends. It is null where it is infinite, or where nothing bounds it
    beforehand.
    """

    state: State
    version: Version
    devices: int
    active_devices: int
    samples: int | None
    error: Estimate | None
    labels: tuple[Estimate, ...]
    staleness_mean: float
    staleness_max: int
    checkins_per_minute: float
    epsilon_per_sample: float | None
    epsilon_per_checkin: float | None
    epsilon_per_person: float | None
    max_updates: int
    target_error: float | None
    error_text: str
    reports: int
