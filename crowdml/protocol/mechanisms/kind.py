"""Define what a kind of mechanism is: everything that others ask of it by its name."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

import msgspec

from crowdml.models import Model
from crowdml.phrase import Phrase
from crowdml.privacy import ALL_TRAIN, CheckinEvent, Mechanism, Roles, Unit
from crowdml.protocol.review import FieldRule, KindsByField

if TYPE_CHECKING:
    from crowdml.protocol.promise import Promise

REACH_PARAMETERS = 250
"""Parameters of a classifier from which on D does not grow with their number."""

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 1e6
"""Beyond these, noise would not fit the wire's integers, or would always be 0."""

Epsilon: TypeAlias = Annotated[float, msgspec.Meta(ge=SMALLEST_EPSILON, le=LARGEST_EPSILON)]


class WantedPrivacy(NamedTuple):
    """Hold the privacy settings of a task file, and what follows from its other tables.

    Args:
        epsilon: The total ε.
        errors: ε for the error count, if said.
        labels: ε for the label counts, if said.
        delta: δ, if said.
        directions: k, if said.
        has_labels: Whether samples have labels, which can be counted.
        heldout: Whether samples are set aside for counting errors.
        checkins: K.
        gradient_only: Whether only the gradient is sent, as in a simulation.
    """

    epsilon: float
    errors: float | None = None
    labels: float | None = None
    delta: float | None = None
    directions: int | None = None
    has_labels: bool = True
    heldout: bool = False
    checkins: int = 1
    gradient_only: bool = False

    def at(self, epsilon: float) -> "WantedPrivacy":
        """Return the same shares of another ε.

        >>> WantedPrivacy(4.0, errors=1.0).at(2.0).errors
        0.5
        """
        share = epsilon / self.epsilon
        errors, labels = (part and share * part for part in (self.errors, self.labels))
        return self._replace(epsilon=epsilon, errors=errors, labels=labels)


class Conditions(NamedTuple):
    """Hold the other settings of a task that a mechanism needs.

    Args:
        model: What is learnt.
        clip: S for a sample's gradient; None for the model's own bound.
        regularization: λ.
        radius: R.
        batch: b.
        buffer: B.
        heldout: The share of a check-in's samples that is set aside.
        checkins: K.
        roles: The shares of check-ins that evaluate and that count.
        scale: The typical size of a real target.
    """

    model: Model
    clip: float | None = None
    regularization: float = 0.0
    radius: float = 1000.0
    batch: int = 1
    buffer: int = 1_000_000
    heldout: float = 0.0
    checkins: int = 1
    roles: Roles = ALL_TRAIN
    scale: float = 1.0


class PrivacyTerms(KindsByField):
    """Hold [privacy] in the terms: how people are protected, in numbers.

    Which fields there are depends on the mechanism that they name. Each field's type states its
    range.
    """

    __slots__ = ()
    tag_field = "mechanism"

    norm: ClassVar[int]
    """Features are rescaled to ‖x‖ ≤ 1 in this norm, 1 or 2, if they are longer."""

    epsilon: float | Literal["inf"]

    directions: int = 0
    """k, where one of k directions is sent."""

    @property
    def parts(self) -> Phrase | None:
        """Return how ε is divided among the things that are sent, where there are several."""
        return None

    @classmethod
    def kinds(cls) -> dict[str, Any]:
        return {name: kind.terms for name, kind in MECHANISMS.items()}

    @classmethod
    def of(cls, wanted: WantedPrivacy) -> "PrivacyTerms":
        """Compute the terms of a task."""
        raise NotImplementedError

    def make(self, conditions: Conditions) -> Mechanism:
        """Make the mechanism of these terms."""
        raise NotImplementedError

    @property
    def wanted(self) -> WantedPrivacy:
        """Return settings of a task file that lead to these terms, also for another ε, b and K."""
        return WantedPrivacy(float(self.epsilon))


class WrittenTerms(
    msgspec.Struct,
    PrivacyTerms,
    frozen=True,
    forbid_unknown_fields=True,
    tag_field=PrivacyTerms.tag_field,
):
    """Define the base of each mechanism's terms, whose tag is the mechanism's name."""


class NeededExtra(NamedTuple):
    """Name a module that is not in every installation, and the extra that installs it."""

    module: str
    extra: str


@dataclass(frozen=True)
class MechanismKind:
    """Describe a kind of mechanism.

    Args:
        terms: Its privacy terms, which make the mechanism.
        payload_type: Its part of a check-in.
        event: What the ledger keeps of a check-in, a struct with a tag.
        unit: Whom it protects.
        words: Whom it protects and how, for people who choose one.
        sending_sentences: What a check-in sends and how it is hidden, as sentences of the promise
            with their names: see `SENDING_SENTENCES` in sentences.py.
        options: The fields of a task file that this mechanism has, and not every mechanism.
        trials: The check-ins of an audit: as many as take a few minutes.
        clip: S for a sample's gradient where a task gives none, in units of the target's scale.
        reach: D of the planned rate, for classifiers of many parameters and for numbers, in the
            same units: see `default_reach`.
        errors_without_and_with_liars: The error on the activity data without liars, and where one
            device in ten lies in the worst way (experiments/poisoning); None where nobody has
            measured it.
        needs: What must be installed besides.
        one_file: Whether the device in one file knows it.
        task_rules: Rules about several fields of a task file.
        terms_rules: Rules about several fields of the terms.
    """

    terms: type[PrivacyTerms]
    payload_type: type[msgspec.Struct]
    event: type[CheckinEvent]
    unit: Unit
    words: str
    sending_sentences: Callable[["Promise"], Iterator[tuple[str, Phrase]]]
    options: frozenset[str]
    trials: int
    clip: float = math.inf
    reach: tuple[float, float] = (40.0, 5.0)
    errors_without_and_with_liars: tuple[float, float] | None = None
    needs: NeededExtra | None = None
    one_file: bool = False
    task_rules: tuple[FieldRule, ...] = ()
    terms_rules: tuple[FieldRule, ...] = ()

    @property
    def name(self) -> str:
        return tag_of(self.terms)

    def default_reach(self, model: Model, scale: float) -> float:
        """Return the default D: for d < 250 parameters of a classifier, √(d/250) of the usual D.

        Each of the d numbers has about the same way to go, so w as a whole goes √d times as far.
        With more than 250 parameters the labels are separated before w has gone that far.
        """
        labels, numbers = self.reach
        if not model.n_classes:
            return numbers * scale
        return labels * math.sqrt(min(1.0, model.size / REACH_PARAMETERS))

    def clip_or_default(
        self, said: float | None, model: Model, scale: float, planned: bool
    ) -> float | None:
        """Return S as given, or as it suits the planned rate; at most the model's own bound.

        None where the mechanism needs no S.
        """
        if "model.clip" not in self.options:
            return None
        usual = self.clip * scale if planned else math.inf
        return min(said or usual, model.bound(self.terms.norm))


def tag_of(kind: type) -> str:
    """Return the name by which a struct is known among others."""
    return str(kind.__struct_config__.tag)  # type: ignore[attr-defined]


MECHANISMS: dict[str, MechanismKind] = {}
"""All kinds, by their names. The package fills it; another program may add its own."""
