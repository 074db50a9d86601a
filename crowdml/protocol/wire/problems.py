"""Write and read errors on the wire: RFC 9457 problem details with a stable type."""

from typing import Any, NamedTuple

import msgspec

from crowdml.errors import Rejected
from crowdml.keywords import check_keywords
from crowdml.phrase import Phrase, PlainText, read_phrase
from crowdml.visible import visible

MEDIA_TYPE = "application/problem+json"
PREFIX = "urn:crowdml:problem:"


class Problem(NamedTuple):
    """Hold the status and the title of a kind of problem."""

    status: int
    title: str


PROBLEMS: dict[str, Problem] = {
    "invalid-request": Problem(400, "The request breaks a rule of the protocol"),
    "invalid-parameter": Problem(400, "A query parameter has a wrong value"),
    "unauthorized": Problem(401, "The token is missing or unknown"),
    "revoked": Problem(403, "This device may no longer take part"),
    "invite-required": Problem(403, "This task is by invitation"),
    "not-found": Problem(404, "There is nothing here"),
    "method-not-allowed": Problem(405, "This address takes other methods"),
    "terms-changed": Problem(409, "The terms are not the task's current ones"),
    "task-finished": Problem(409, "The task has ended"),
    "task-paused": Problem(409, "The task is paused"),
    "stale-version": Problem(409, "The gradient is too old for this task"),
    "future-version": Problem(409, "The version does not exist yet"),
    "too-large": Problem(413, "The body is too large"),
    "wrong-size": Problem(422, "An array has the wrong size"),
    "too-few-samples": Problem(422, "Fewer samples than the terms ask for"),
    "too-many-samples": Problem(422, "More samples than the terms allow"),
    "wrong-heldout": Problem(422, "Another number of held-out samples than the terms ask for"),
    "wrong-grid": Problem(422, "Another grid than the terms and samples give"),
    "wrong-role": Problem(422, "This check-in of the device has another role"),
    "repeated-number": Problem(409, "The device has sent another check-in of this number"),
    "wrong-number": Problem(409, "The numbers of a device's check-ins are taken in order"),
    "too-many-checkins": Problem(409, "The device has made all its check-ins"),
    "implausible": Problem(422, "No honest device sends this value"),
    "too-frequent": Problem(429, "Too many requests"),
    "fault": Problem(500, "The server has a fault"),
    "unavailable": Problem(503, "The server cannot take this now"),
}


def problem_document(error: Rejected) -> bytes:
    """Return the body of an error answer.

    >>> problem_document(Rejected("not-found", 404, "There is no task 'x'."))[:40]
    b'{"type":"urn:crowdml:problem:not-found",'
    """
    document = {
        "type": PREFIX + error.kind,
        "title": PROBLEMS[error.kind].title,
        "status": error.status,
        "detail": error.detail,
        **({} if isinstance(error.phrase, PlainText) else error.phrase.document),
        **error.extra,
    }
    return msgspec.json.encode(document)


EXTRA_MEMBERS = ("retry_after", "state", "version")
"""The further members that a problem may have."""

LARGEST_PROBLEM = 2**16
"""The most bytes of a problem document that devices read."""


def read_problem(status: int, body: bytes) -> Rejected:
    """Read the error in an answer; its kind is `unknown` for a document of another protocol.

    A proxy between device and server may send errors of its own. The template and its values are
    kept only if they make exactly the sentence in `detail`, so that a server cannot say one thing
    in English and another in German.
    """
    try:
        # A longer body is not a problem of this protocol, and could need much memory.
        read = body if len(body) <= LARGEST_PROBLEM else b"{}"
        document: dict[str, Any] = msgspec.json.decode(read, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        document = {}
    type_ = document.pop("type", None)
    own = isinstance(type_, str) and type_.startswith(PREFIX)
    kind = visible(type_).removeprefix(PREFIX) if own else ""
    detail = visible(document.pop("detail", f"the server answered with status {status}"))
    said = {name: document.pop(name) for name in ("template", "values") if name in document}
    phrase = read_phrase(said)
    same = phrase is not None and str(phrase) == detail
    return Rejected(kind or "unknown", status, phrase if phrase and same else detail, document)


def rejected(kind: str, detail: str | Phrase, **extra: Any) -> Rejected:
    """Make a rejection of a known kind; a `Phrase` can be shown in the reader's language.

    Args:
        extra: Further members of the problem: `retry_after`, `state` or `version`.
    """
    check_keywords("rejected", extra, EXTRA_MEMBERS)
    return Rejected(kind, PROBLEMS[kind].status, detail, extra)
