"""Define what device and server share: tasks, terms, messages, problems, the OpenAPI document."""

from crowdml.protocol.codec import decode_parameters, encode_parameters
from crowdml.protocol.editing import EDITABLE, edited
from crowdml.protocol.features import MOST_SCALES, Features, Readings
from crowdml.protocol.figures import (
    chance,
    counted,
    error_said,
    estimate_said,
    known,
    percent_sure,
    share_range,
    significant,
    written_epsilon,
)
from crowdml.protocol.mechanisms import (
    MECHANISMS,
    USUAL_MECHANISM,
    Conditions,
    MechanismKind,
    PrivacyTerms,
    WantedPrivacy,
    read_event,
)
from crowdml.protocol.messages import (
    TERMS_HEADER,
    Checkin,
    CheckinAnswer,
    Checkout,
    Enrol,
    Enrolled,
    Estimate,
    State,
    Statistics,
    TaskList,
    TaskView,
    checkin_type,
)
from crowdml.protocol.names import check_name
from crowdml.protocol.openapi import openapi
from crowdml.protocol.problems import MEDIA_TYPE, PROBLEMS, problem_document, read_problem, rejected
from crowdml.protocol.promise import LEVELS, Promise
from crowdml.protocol.review import MISSING, FieldRule, Review, fields_of, rule
from crowdml.protocol.rules import name_is_taken
from crowdml.protocol.sensor import GAP_SECONDS, GAP_TICKS, SUMMARY, Sensor, features_made
from crowdml.protocol.sensors import SENSORS, SensorKind
from crowdml.protocol.start import StartReach, StartSpec, StartTerms
from crowdml.protocol.start_file import StartFile
from crowdml.protocol.task import Task
from crowdml.protocol.task_file import COUNTERS, EVALUATORS, CollectionSpec, OptimizerSpec, TaskFile
from crowdml.protocol.task_head import PILOT_WORDS, TASK_HEAD
from crowdml.protocol.terms import CollectionTerms, ModelTerms, Target, Terms, terms_hash
from crowdml.protocol.toml import TomlValue, recommended_fields, set_fields
from crowdml.protocol.wording import listed

__all__ = [
    "COUNTERS",
    "EDITABLE",
    "EVALUATORS",
    "GAP_SECONDS",
    "GAP_TICKS",
    "LEVELS",
    "MECHANISMS",
    "MEDIA_TYPE",
    "MISSING",
    "MOST_SCALES",
    "PILOT_WORDS",
    "PROBLEMS",
    "SENSORS",
    "SUMMARY",
    "TASK_HEAD",
    "TERMS_HEADER",
    "USUAL_MECHANISM",
    "Checkin",
    "CheckinAnswer",
    "Checkout",
    "CollectionSpec",
    "CollectionTerms",
    "Conditions",
    "Enrol",
    "Enrolled",
    "Estimate",
    "Features",
    "FieldRule",
    "MechanismKind",
    "ModelTerms",
    "OptimizerSpec",
    "PrivacyTerms",
    "Promise",
    "Readings",
    "Review",
    "Sensor",
    "SensorKind",
    "StartFile",
    "StartReach",
    "StartSpec",
    "StartTerms",
    "State",
    "Statistics",
    "Target",
    "Task",
    "TaskFile",
    "TaskList",
    "TaskView",
    "Terms",
    "TomlValue",
    "WantedPrivacy",
    "chance",
    "check_name",
    "checkin_type",
    "counted",
    "decode_parameters",
    "edited",
    "encode_parameters",
    "error_said",
    "estimate_said",
    "features_made",
    "fields_of",
    "known",
    "listed",
    "name_is_taken",
    "openapi",
    "percent_sure",
    "problem_document",
    "read_event",
    "read_problem",
    "recommended_fields",
    "rejected",
    "rule",
    "set_fields",
    "share_range",
    "significant",
    "terms_hash",
    "written_epsilon",
]
