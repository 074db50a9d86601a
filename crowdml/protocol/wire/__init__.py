"""Define the messages between device and server: their fields, arrays and problems.

A raw sample has no type here, so it cannot be sent by accident. A change is a new version of the
protocol: the OpenAPI document, docs/protocol.md and three devices must follow.
"""

from crowdml.protocol.wire.codec import decode_parameters, encode_parameters
from crowdml.protocol.wire.messages import (
    NO_NEWLINE,
    TERMS_HEADER,
    Checkin,
    CheckinAnswer,
    Checkout,
    Enrol,
    Enrolled,
    Sha256,
    State,
    Statistics,
    TaskList,
    TaskView,
    checkin_type,
    in_own_words,
)
from crowdml.protocol.wire.problems import (
    MEDIA_TYPE,
    PROBLEMS,
    problem_document,
    read_problem,
    rejected,
)

__all__ = [
    "MEDIA_TYPE",
    "NO_NEWLINE",
    "PROBLEMS",
    "TERMS_HEADER",
    "Checkin",
    "CheckinAnswer",
    "Checkout",
    "Enrol",
    "Enrolled",
    "Sha256",
    "State",
    "Statistics",
    "TaskList",
    "TaskView",
    "checkin_type",
    "decode_parameters",
    "encode_parameters",
    "in_own_words",
    "problem_document",
    "read_problem",
    "rejected",
]
