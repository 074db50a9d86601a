"""Define the terms: everything that decides what leaves a device, as one text with one hash.

A participant agrees to the text itself. A device hashes the bytes that it was shown, parses the
same bytes, and uses nothing else, so no language needs a rule for canonical JSON.
"""

import hashlib
from typing import Annotated, TypeAlias

import msgspec

from crowdml.errors import InvalidInput, InvalidTask, Mistake
from crowdml.models import MODELS, Model
from crowdml.phrase import Phrase
from crowdml.privacy import (
    LARGEST_SHARE,
    CheckinEvent,
    CheckinKey,
    Loss,
    Mechanism,
    Roles,
    within,
)
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
"""The multiply-and-add steps in a slot of 0.05 seconds: 0.5 µs for each, six times as long as
plain Python takes on a server and 200 times as long as a browser does."""

STEPS_OF_SAMPLE = 20
"""The steps to read and delete a sample, besides its d numbers."""

LineText: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Purpose: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
CheckinShare: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LARGEST_SHARE)]
"""The share of the check-ins that have a role other than training."""


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describe y: the names of the classes 0, 1, …, or a number with its typical size and unit."""

    labels: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=80)], ...],
        msgspec.Meta(max_length=1000),
    ] = ()
    description: Text = ""
    scale: Positive = 1.0
    unit: Annotated[str, msgspec.Meta(max_length=40)] = ""


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold h, l, λ, S and the domain of w, which a task file and the terms have in common.

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
    """Hold the model, and where w starts if not at zero."""

    start: StartTerms | None = None


class CollectionTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold b, B, K, and which samples or check-ins do not train.

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
    """Hold everything that a participant agrees to.

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
        """Read the terms in a text from a server, which may be malformed."""
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
        """Return the terms as JSON: the text that is shown, hashed and agreed to."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode()

    @property
    def n_classes(self) -> int:
        """Return the number of labels; 0 if a number is predicted."""
        return len(self.target.labels)

    @property
    def private(self) -> bool:
        """Return whether the promise is strong enough to be called private."""
        return self.promise.private

    @property
    def promise(self) -> Promise:
        """Return the promise to a participant who does not choose a limit."""
        return Promise.of(self)

    @property
    def loss(self) -> Loss:
        """Compute what one check-in costs its unit; the claim in the terms is not used."""
        return self.event(self.collection.batch).loss

    @property
    def shared(self) -> int:
        """Return the most samples that one reading of the sensor is in; 1 without a sensor."""
        sensor = self.features.sensor
        return sensor.samples_per_reading if sensor else 1

    @property
    def most_checkins(self) -> int:
        """Return K, the most check-ins of a device."""
        return self.collection.checkins or MOST_CHECKINS

    @property
    def slots(self) -> int:
        """Return the whole number of time slots that a check-in takes, however fast the device is.

        The number follows from public numbers and covers the most work that any samples can
        cause, so that the time of a check-in does not depend on the samples.
        """
        samples = self.collection.buffer * (self.make_model().size + STEPS_OF_SAMPLE)
        steps = self.mechanism().operations + 2 * samples
        return -(-steps // STEPS_OF_SLOT)

    def checkins_within(self, epsilon: float) -> int:
        """Return how many check-ins cost at most this ε together."""
        loss, checkins = self.loss, 0
        for more in (2**k for k in range(20, -1, -1)):
            if within(loss.times(checkins + more).total, epsilon, loss.total):
                checkins += more
        return min(checkins, self.most_checkins)

    def event(self, n_samples: int) -> CheckinEvent:
        """Return what a check-in of `n_samples` costs; the cost is known before it is sent."""
        return self.mechanism().event(n_samples, CheckinKey("", "", 1))

    def make_model(self) -> Model:
        """Make the model, with its proven bounds."""
        return make_model(self.model, self.features.count, self.n_classes)

    @property
    def mechanism_name(self) -> str:
        """Return the name of the mechanism, one of `MECHANISMS`."""
        return tag_of(type(self.privacy))

    @property
    def kind(self) -> MechanismKind:
        """Return the kind of the mechanism."""
        return MECHANISMS[self.mechanism_name]

    def mechanism(self) -> Mechanism:
        """Make the mechanism, which decides what leaves a device and what it costs."""
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
    """Make the model that these settings describe; reject an impossible combination."""
    mistakes = tuple(model_mistakes(spec.kind, spec.intercept, n_features, n_classes))
    if mistakes:
        raise InvalidTask(*mistakes)
    settings = {"delta": spec.delta, "tolerance": spec.tolerance}
    return MODELS[spec.kind].model(n_features, n_classes, spec.intercept, **settings)


def terms_hash(text: str) -> str:
    """Return the SHA-256 of the text's UTF-8 bytes, in hexadecimal.

    >>> terms_hash("{}")[:16]
    '44136fa355b3678a'
    """
    return hashlib.sha256(text.encode()).hexdigest()
