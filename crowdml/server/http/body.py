"""Read request bodies with limits on size and time, and word clear errors."""

from typing import TypeVar

import msgspec
from starlette.types import Receive, Scope

from crowdml.errors import Rejected
from crowdml.phrase import Phrase, join_phrases
from crowdml.protocol import Review, rejected
from crowdml.server.http.visitor import visitor_of
from crowdml.server.service import Bodies, IncomingBody

T = TypeVar("T", bound=msgspec.Struct)
FEW_PARTS, SMALL_PART_BYTES = 64, 512
"""Each part costs about as much as a small request, and networks deliver larger ones."""

NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def header(scope: Scope, name: bytes) -> str:
    """Return a request header, or the empty string."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return ""


def limit_body(scope: Scope, limit: int) -> IncomingBody:
    """Limit the body of a request in a `with` block; raise `Rejected` if it is too large."""
    length = header(scope, b"content-length")
    announced = int(length) if length.isdecimal() else None
    if announced is not None and announced > limit:
        raise _too_large(limit)
    bodies: Bodies = scope["app"].state.service.bodies
    return IncomingBody(bodies, limit, announced, visitor_of(scope))


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """Read a whole body that is not needed after its request."""
    with limit_body(scope, limit) as body:
        return await read(receive, body)


async def read(receive: Receive, body: IncomingBody) -> bytes:
    """Read a whole body that is being limited."""
    announced, limit, read, more = body.announced, body.limit, 0, True
    parts: list[bytes] = []
    most_parts = FEW_PARTS + limit // SMALL_PART_BYTES
    while more and read <= limit and len(parts) < most_parts:
        message = await receive()
        if message["type"] == "http.disconnect":
            # A malformed chunk is reported as a lost connection too, but it can still be answered.
            words = Phrase(
                "the body must arrive whole, found a broken chunk or an early end. Send it again."
            )
            raise rejected("invalid-request", words)
        parts.append(message.get("body", b""))
        read += len(parts[-1])
        body.received(len(parts[-1]))
        # All announced bytes have arrived: waiting for the end would cost another loop iteration.
        more = message.get("more_body", False) and read != announced
    body.mark_complete()
    if read > limit:
        raise _too_large(limit)
    if more:
        words = Phrase(
            "the body must come in at most {n} parts, found more. Send larger parts.", n=most_parts
        )
        raise rejected("too-large", words)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(limit: int) -> Rejected:
    return rejected(
        "too-large",
        Phrase("the body must be at most {n} bytes, found more. Send a shorter one.", n=limit),
    )


def decode(decoder: "msgspec.json.Decoder[T]", body: bytes) -> T:
    """Decode a message, or raise a rejection that names each wrong field, its rule and value."""
    try:
        return decoder.decode(body)
    except NOT_JSON as error:
        raise rejected("invalid-request", _explain(decoder.type, body)) from error


def _explain(kind: type[msgspec.Struct], body: bytes) -> Phrase:
    try:
        document = msgspec.json.decode(body)
    except NOT_JSON as error:
        return Phrase("the body must be JSON: {why}.", why=str(error))
    mistakes = Review(document, kind, "the body").mistakes
    return join_phrases([mistake.about(mistake.field) for mistake in mistakes], " ")
