"""The terms: everything that decides what leaves a device, as one text with one hash.

The text itself is what is agreed to. A device hashes the bytes that it was shown, parses the
same bytes, and acts on nothing else, so no rule for canonical JSON is needed in any language.
"""

import hashlib
from typing import Annotated, TypeAlias

import msgspec

from crowdml.errors import InvalidInput, InvalidTask, Mistake
from crowdml.models import MODELS, Model
from crowdml.phrase import Phrase
from crowdml.privacy import LARGEST_SHARE, CheckinEvent, Loss, Mechanism, Place, Roles, within
from crowdml.protocol.features import Features, Positive, Text
from crowdml.protocol.mechanisms import (
    MECHANISMS,
    Conditions,
    MechanismKind,
    PrivacyTerms,
    kind_in,
    tag_of,
)
from crowdml.protocol.promise import Promise
from crowdml.protocol.review import read
from crowdml.protocol.rules import TERMS_RULES, model_mistakes
from crowdml.protocol.start import StartTerms

ModelName: TypeAlias = Annotated[str, msgspec.Meta(extra={"names": MODELS})]
MOST_CHECKINS = 1_000_000
NOT_TERMS = "the server's terms make no sense: "

STEPS_OF_SLOT = 100_000
"""Products with their sums in a slot of 0.05 seconds: 0.5 µs for each, six times as long as plain
Python takes on a server and 200 times as long as a browser does."""

STEPS_OF_SAMPLE = 20
"""To read a sample and delete it, beside its d numbers."""

LineText: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Purpose: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
CheckinShare: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LARGEST_SHARE)]
"""The share of the check-ins that have a role other than training."""


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """y: the names of the classes 0, 1, …; or none for a real number, its typical size and unit."""

    labels: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=80)], ...],
        msgspec.Meta(max_length=1000),
    ] = ()
    description: Text = ""
    scale: Positive = 1.0
    unit: Annotated[str, msgspec.Meta(max_length=40)] = ""


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """h, l, λ, S and the domain of w: what a task file and the terms have in common.

    `clip` is null where the mechanism needs none, and a task file may leave it out; `delta` belongs
    to huber, `tolerance` to ridge and huber (what counts as an error).
    """

    kind: ModelName
    clip: Positive | None = None
    regularization: Annotated[float, msgspec.Meta(ge=0, le=1e6)] = 0.0
    radius: Positive = 1000.0
    intercept: bool = False
    delta: Positive = 1.0
    tolerance: Positive = 1.0


class ModelTerms(ModelSettings, frozen=True, forbid_unknown_fields=True):
    """The model, and where w starts if not at zero."""

    start: StartTerms | None = None


class CollectionTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """b, B, K, and which samples or check-ins do not train.

    Args:
        batch: b, the least number of samples in a check-in.
        buffer: B, the most samples that a device keeps.
        heldout: The share of a check-in's samples that is set aside for counting errors.
        checkins: K, the most check-ins of a device; no limit if null.
        evaluators: The share of check-ins that send whether the model was right about one sample.
        counters: The share of check-ins that send the answer of one sample.
    """

    batch: Annotated[int, msgspec.Meta(ge=1, le=100_000)]
    buffer: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    heldout: Annotated[float, msgspec.Meta(ge=0, le=0.5)] = 0.0
    checkins: Annotated[int, msgspec.Meta(ge=1, le=MOST_CHECKINS)] | None = None
    evaluators: CheckinShare = 0.0
    counters: CheckinShare = 0.0

    @property
    def roles(self) -> Roles:
        return Roles(self.evaluators, self.counters)


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a participant agrees to.

    Args:
        purpose: What the model will be used for.
        sensors: What is read, and how often.
    """

    task: str
    owner: LineText
    contact: LineText
    purpose: Purpose
    sensors: Text
    features: Features
    target: Target
    model: ModelTerms
    privacy: PrivacyTerms
    collection: CollectionTerms

    @classmethod
    def parse(cls, text: str) -> "Terms":
        """The terms in a text from a server, which is not trusted to be well-formed."""
        try:
            document = msgspec.json.decode(text.encode())
        except (AttributeError, ValueError, RecursionError) as error:
            raise InvalidTask(Mistake("they", Phrase("must be JSON")), start=NOT_TERMS) from error
        kind = kind_in(document)
        rules = (*TERMS_RULES, *(kind.terms_rules if kind else ()))
        terms = read(document, cls, "they", rules, NOT_TERMS)
        try:
            claimed, cost = float(terms.privacy.epsilon), terms.loss.total
        except InvalidInput as error:
            must = Phrase("must make a mechanism, but {why}", why=error.phrase)
            raise InvalidTask(Mistake("privacy", must), start=NOT_TERMS) from error
        if cost > claimed * (1 + 1e-9):
            must = Phrase("must be at least what a check-in costs a sample, {cost}", cost=cost)
            raise InvalidTask(Mistake("privacy.epsilon", must, claimed), start=NOT_TERMS)
        return terms

    @property
    def text(self) -> str:
        """The terms as JSON: what is shown, hashed and agreed to."""
        document = msgspec.to_builtins(self)
        if not self.target.unit:
            # Devices that know no units reject a field that they do not know.
            del document["target"]["unit"]
        return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()

    @property
    def n_classes(self) -> int:
        """How many labels there are; 0 if a number is predicted."""
        return len(self.target.labels)

    @property
    def private(self) -> bool:
        """Whether the promise is worth the name."""
        return self.promise.private

    @property
    def promise(self) -> Promise:
        """What is promised to a participant who does not choose a limit."""
        return Promise.of(self)

    @property
    def loss(self) -> Loss:
        """What one check-in costs its unit, computed and not merely claimed."""
        return self.event(self.collection.batch).loss

    @property
    def shared(self) -> int:
        """The most samples that one reading of the sensor is in; 1 where there is none."""
        sensor = self.features.sensor
        return sensor.samples_per_reading if sensor else 1

    @property
    def most_checkins(self) -> int:
        """K, the most check-ins of a device."""
        return self.collection.checkins or MOST_CHECKINS

    @property
    def slots(self) -> int:
        """The whole number of time slots that a check-in takes, however fast the device is.

        It follows from public numbers and covers the most work that any samples can make, so that
        the time of a check-in does not depend on them.
        """
        samples = self.collection.buffer * (self.make_model().size + STEPS_OF_SAMPLE)
        steps = self.mechanism().effort + 2 * samples
        return -(-steps // STEPS_OF_SLOT)

    def checkins_within(self, epsilon: float) -> int:
        """Return how many check-ins cost at most this ε together."""
        loss, checkins = self.loss, 0
        for more in (2**k for k in range(20, -1, -1)):
            if within(loss.times(checkins + more).total, epsilon, loss.total):
                checkins += more
        return min(checkins, self.most_checkins)

    def event(self, n_samples: int) -> CheckinEvent:
        """What a check-in of so many samples costs: known before anything is told."""
        return self.mechanism().event(n_samples, Place("", "", 1))

    def make_model(self) -> Model:
        """What is learnt, with its proven bounds."""
        return make_model(self.model, self.features.count, self.n_classes)

    @property
    def mechanism_name(self) -> str:
        """The name of its mechanism, one of `MECHANISMS`."""
        return tag_of(type(self.privacy))

    @property
    def kind(self) -> MechanismKind:
        """The kind of its mechanism."""
        return MECHANISMS[self.mechanism_name]

    def mechanism(self) -> Mechanism:
        """What decides what leaves a device, and what it costs."""
        model, collection = self.model, self.collection
        return self.privacy.make(
            Conditions(
                model=self.make_model(),
                clip=model.clip,
                regularization=model.regularization,
                radius=model.radius,
                batch=collection.batch,
                buffer=collection.buffer,
                heldout=collection.heldout,
                checkins=collection.checkins or 1,
                roles=collection.roles,
                scale=self.target.scale,
            )
        )


def make_model(spec: ModelSettings, n_features: int, n_classes: int) -> Model:
    """The model that these terms describe; a combination that cannot be is refused."""
    mistakes = tuple(model_mistakes(spec.kind, spec.intercept, n_features, n_classes))
    if mistakes:
        raise InvalidTask(*mistakes)
    settings = {"delta": spec.delta, "tolerance": spec.tolerance}
    return MODELS[spec.kind].model(n_features, n_classes, spec.intercept, **settings)


def terms_hash(text: str) -> str:
    """SHA-256 of the UTF-8 bytes of the text, in hexadecimal.

    >>> terms_hash("{}")[:16]
    '44136fa355b3678a'
    """
    return hashlib.sha256(text.encode()).hexdigest()
