"""Where device and server meet: tasks, terms, messages, problems, the OpenAPI document."""

from crowdml.protocol.codec import (
    decode_gradient,
    decode_parameters,
    encode_gradient,
    encode_parameters,
)
from crowdml.protocol.editing import EDITABLE, edited
from crowdml.protocol.mechanisms import MECHANISMS, Conditions, DirectionTerms, Wanted
from crowdml.protocol.messages import (
    TERMS_HEADER,
    Checkin,
    CheckinAnswer,
    Checkout,
    DirectedCheckin,
    Enrol,
    Enrolled,
    Estimate,
    NoisyCheckin,
    State,
    Statistics,
    TaskList,
    TaskView,
    checkin_type,
)
from crowdml.protocol.names import check_name
from crowdml.protocol.openapi import openapi
from crowdml.protocol.problems import (
    MEDIA_TYPE,
    PROBLEMS,
    problem_document,
    read_problem,
    rejected,
)
from crowdml.protocol.promise import LEVELS, Level, Promise, RoleShare
from crowdml.protocol.review import MISSING, Review, Rule, fields_of, rule
from crowdml.protocol.rules import name_is_taken
from crowdml.protocol.sensor import Sensor
from crowdml.protocol.task import CollectionSpec, OptimizerSpec, Task
from crowdml.protocol.terms import Features, ModelTerms, Terms, make_model, terms_hash
from crowdml.protocol.toml import set_fields
from crowdml.protocol.wording import listed

__all__ = [
    "EDITABLE",
    "LEVELS",
    "MECHANISMS",
    "MEDIA_TYPE",
    "MISSING",
    "PROBLEMS",
    "TERMS_HEADER",
    "Checkin",
    "CheckinAnswer",
    "Checkout",
    "CollectionSpec",
    "Conditions",
    "DirectedCheckin",
    "DirectionTerms",
    "Enrol",
    "Enrolled",
    "Estimate",
    "Features",
    "Level",
    "ModelTerms",
    "NoisyCheckin",
    "OptimizerSpec",
    "Promise",
    "Review",
    "RoleShare",
    "Rule",
    "Sensor",
    "State",
    "Statistics",
    "Task",
    "TaskList",
    "TaskView",
    "Terms",
    "Wanted",
    "check_name",
    "checkin_type",
    "decode_gradient",
    "decode_parameters",
    "edited",
    "encode_gradient",
    "encode_parameters",
    "fields_of",
    "listed",
    "make_model",
    "name_is_taken",
    "openapi",
    "problem_document",
    "read_problem",
    "rejected",
    "rule",
    "set_fields",
    "terms_hash",
]
