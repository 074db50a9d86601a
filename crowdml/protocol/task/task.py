"""Define a task: what is learnt, on which terms, how the server steps and when it stops."""

import math
import tomllib

import msgspec

from crowdml.errors import InvalidInput, InvalidTask, Mistake
from crowdml.optim import Optimizer
from crowdml.phrase import Phrase
from crowdml.privacy import Role, Unit
from crowdml.protocol.mechanisms import MECHANISMS, USUAL_MECHANISM, WantedPrivacy, kind_in
from crowdml.protocol.review import FieldRule, read, read_open
from crowdml.protocol.rules import RULES
from crowdml.protocol.start import ReachFromStart, Start, StartSpec
from crowdml.protocol.task.start_check import split_start
from crowdml.protocol.task.task_file import (
    BOM,
    TASK_FILE,
    Enrolment,
    OptimizerSpec,
    Stop,
    TaskFile,
    with_derived,
)
from crowdml.protocol.task.task_rules import TASK_RULES
from crowdml.protocol.terms import ModelSettings, ModelTerms, Terms, make_model
from crowdml.protocol.wording import shown
from crowdml.tables import check_kind
from crowdml.types import Array

DEFAULT_T_MAX = 1_000_000
"""Check-ins after which a task ends, where it does not say."""

DEFAULT_PACE = 60.0
"""The most check-ins a minute of one device, where neither the task nor a sensor sets a limit."""

WRECKED_ERROR = 0.1
"""An error on the activity data, of which 0.02 is good, at which a model is of no use."""


FAINT_EPSILON = 0.1
"""An ε of one check-in below which its answer is nearly a toss of a coin."""


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold a valid task, as the server stores it."""

    title: str
    objective: str
    terms: Terms
    optimizer: OptimizerSpec
    stop: Stop
    enrolment: Enrolment
    start: StartSpec | None = None

    @property
    def name(self) -> str:
        """Return the task's name, by which devices know it."""
        return self.terms.task

    @property
    def t_max(self) -> int:
        """Return T_max, the number of check-ins after which the task ends."""
        return self.stop.updates or DEFAULT_T_MAX

    @property
    def checkins_per_minute(self) -> float:
        """Return the limit for one device: as set, or twice what its sensor can honestly give."""
        said, sensor = self.enrolment.checkins_per_minute, self.terms.features.sensor
        if said is not None or sensor is None or sensor.registered.typed_in or not sensor.every:
            return DEFAULT_PACE if said is None else said
        return min(DEFAULT_PACE, 2 * 60 / (sensor.every * self.terms.collection.batch))

    @property
    def liar_warning(self) -> Phrase | None:
        """Warn an owner who lets anyone join where one liar in ten ruins the model."""
        own, usual = (
            kind.errors_without_and_with_liars
            for kind in (self.terms.kind, MECHANISMS[USUAL_MECHANISM])
        )
        if self.enrolment.mode != "open" or own is None or usual is None or own[1] < WRECKED_ERROR:
            return None
        return Phrase(
            "Anyone may join this task, and {mechanism} noise does not withstand liars: when one "
            "device in ten lied, the error on activity data rose from {honest} to {lied}, and with "
            "{usual} only from {usual_honest} to {usual_lied}; ask for invites, or choose {usual}.",
            mechanism=self.terms.kind.name,
            honest=own[0],
            lied=own[1],
            usual=USUAL_MECHANISM,
            usual_honest=usual[0],
            usual_lied=usual[1],
        )

    @property
    def checkins_warning(self) -> Phrase | None:
        """Warn the owner if K is so large that each check-in has too small an ε to be useful."""
        checkins, each = self.terms.collection.checkins, self.terms.loss.total
        if self.terms.mechanism().unit is not Unit.CHECKIN or not checkins or each >= FAINT_EPSILON:
            return None
        epsilon = each * checkins
        return Phrase(
            "A person's ε = {epsilon} is divided by {checkins} check-ins, which leaves {each} for "
            "each; below {least} a check-in says almost nothing, so ask for at most {most}.",
            epsilon=epsilon,
            checkins=checkins,
            each=each,
            least=FAINT_EPSILON,
            most=max(1, math.floor(epsilon / FAINT_EPSILON * (1 + 1e-9))),
        )

    @property
    def fewest_evaluated(self) -> int:
        """Return how many predictions the window needs before the target error can be reached."""
        one_each = self.terms.mechanism().unit is Unit.CHECKIN
        return self.stop.samples or (min(200, self.stop.window) if one_each else 1000)

    @property
    def reach(self) -> float:
        """Return D, where neither the optimizer nor a start says how far w is expected to go."""
        return self.terms.kind.default_reach(self.terms.make_model(), self.terms.target.scale)

    @property
    def reach_from_start(self) -> ReachFromStart | None:
        """Return what decides D from the task's start; None if no start has a known uncertainty."""
        start, terms = self.start, self.terms.model.start
        if not start or not terms or start.distance is None or terms.rows is None:
            return None
        size, scale = self.terms.make_model().size, self.terms.target.scale
        return ReachFromStart(start.distance, terms.rows, terms.people, size, scale)

    @property
    def w0(self) -> Array | None:
        """Return w at version 0; None for zero. Raise `InvalidInput` unless the terms name it."""
        agreed = self.terms.model.start.sha256 if self.terms.model.start else None
        found = self.start.sha256 if self.start else None
        if agreed != found:
            raise InvalidInput(
                f"the start of {self.name} must have the hash that its terms name, "
                f"{agreed or 'none'}, found {found or 'none'}. It was changed after the task was "
                "created: restore a backup."
            )
        return self.start.w if self.start else None

    def make_optimizer(self) -> Optimizer:
        """Make the optimizer, and derive what the task leaves open from public numbers."""
        updates = self.t_max * self.terms.collection.roles.share(Role.TRAIN)
        known = self.terms.mechanism()
        spec = self.optimizer.with_plan(updates, known, self.reach, self.reach_from_start)
        return spec.make(self.terms.model.radius)

    @classmethod
    def from_json(cls, document: str | bytes) -> "Task":
        """Read a task as the server stores it."""
        return msgspec.json.decode(document, type=cls, dec_hook=read_open)

    @classmethod
    def from_toml(cls, text: str, *rules: FieldRule, start: Start | None = None) -> "Task":
        """Parse a task file; `InvalidTask` has every wrong field, also by these further rules.

        `start` is what the caller has read from the place that `model.start` names.
        """
        check_kind("a task file", text, str, "a text")
        try:
            document = with_derived(tomllib.loads(text.removeprefix(BOM), parse_float=_finite))
        except (ValueError, RecursionError) as error:
            must = Phrase("must be valid TOML: {why}", why=str(error))
            raise InvalidTask(Mistake(TASK_FILE, must)) from error
        kind = kind_in(document)
        own = kind.task_rules if kind else ()
        return _task(
            read(document, TaskFile, TASK_FILE, (*RULES, *TASK_RULES, *own, *rules)), start
        )


def _finite(text: str) -> float:
    """Read a number of a task file; a number too large for a float must not become inf."""
    value = float(text)
    if math.isinf(value) and "inf" not in text:
        raise ValueError(f"{text[:20]} is too large")
    return value


def _task(file: TaskFile, start: Start | None) -> Task:
    n_classes, spec = len(file.target.labels), file.privacy
    collection = file.collection.terms(spec.mechanism, n_classes)
    wanted = WantedPrivacy(
        epsilon=spec.epsilon,
        errors=spec.epsilon_e,
        labels=spec.epsilon_y,
        delta=spec.delta,
        directions=spec.directions,
        has_labels=n_classes > 0,
        heldout=int(collection.heldout * collection.batch) > 0,
        checkins=collection.checkins or 1,
    )
    kind = MECHANISMS[spec.mechanism]
    model = make_model(file.model, file.features.count, n_classes)
    clip = kind.clip_or_default(file.model.clip, model, file.target.scale, file.optimizer.planned)
    terms = Terms(
        task=file.name,
        owner=file.owner,
        contact=file.contact,
        purpose=file.purpose,
        sensors=file.sensors,
        features=file.features,
        target=file.target,
        model=_model_terms(file, clip),
        privacy=kind.terms.of(wanted),
        collection=collection,
    )
    kept = None
    if start is not None:
        said, kept = split_start(start, terms, file.model.pilot)
        with_start = msgspec.structs.replace(terms.model, start=said)
        terms = msgspec.structs.replace(terms, model=with_start)
    elif file.model.start is not None:
        must = Phrase("must be read together with the task file")
        remedy = Phrase("Create the task with `crowdml task create`.")
        raise InvalidTask(Mistake("model.start", must, shown(file.model.start), remedy))
    elif file.model.pilot:
        must = Phrase("is about the pilot of a start, and there is none")
        remedy = Phrase("Give model.start, or remove it.")
        raise InvalidTask(Mistake("model.pilot", must, remedy=remedy))
    return Task(file.title, file.objective, terms, file.optimizer, file.stop, file.enrolment, kept)


def _model_terms(file: TaskFile, clip: float | None) -> ModelTerms:
    names = ModelSettings.__struct_fields__
    settings = {name: getattr(file.model, name) for name in names}
    return ModelTerms(**settings | {"clip": clip})
