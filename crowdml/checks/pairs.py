"""Make pairs of data sets that are as hard to hide as any, with the terms and the w for them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from crowdml.models import Minibatch
from crowdml.privacy import (
    CheckinEvent,
    CheckinKey,
    Ledger,
    Mechanism,
    Role,
    Unit,
    bound_features,
)
from crowdml.protocol import (
    MECHANISMS,
    CollectionTerms,
    Features,
    ModelTerms,
    Target,
    Terms,
    WantedPrivacy,
    terms_hash,
)
from crowdml.types import Array

Samples: TypeAlias = tuple[tuple[float, float], ...]
"""One x and its y for each sample, as they are taken: x may be longer than it should be."""

FAR_VALUE = 1e6
LONG_NORM = 2.9
"""An x that is too long, and yet three samples with it average to less than S."""

CLIP = 0.5
"""S: half of what the length of a gradient would be."""

CHECKINS = 3
"""The number of check-ins of a person that are audited together."""

COUNTS = 0.2
"""The share of ε for each count: with more of it for the gradient, they would hardly be seen."""


@dataclass(frozen=True)
class Pair:
    """Hold two data sets that must be hard to distinguish by what leaves a device.

    Args:
        name: What they put to the test.
        device: Its name, which decides its role and its codebook.
        w: What a malicious server would send.
        number: Which of the device's check-ins is made.
    """

    name: str
    terms: Terms
    device: str
    w: tuple[float, ...]
    sides: tuple[Samples, Samples]
    number: int = 1

    @cached_property
    def mechanism(self) -> Mechanism:
        return self.terms.mechanism()

    @property
    def key(self) -> CheckinKey:
        return CheckinKey(terms_hash(self.terms.text), self.device, self.number)

    @property
    def event(self) -> CheckinEvent:
        return self.mechanism.event(len(self.sides[0]), self.key)

    @property
    def before(self) -> Ledger:
        """Return the ledger of the device just before this check-in."""
        earlier = (replace(self, number=number).event for number in range(1, self.number))
        return Ledger.of(earlier)

    def rows(self, side: Samples) -> tuple[Array, Array]:
        """Return the samples as a device keeps them."""
        norm = self.mechanism.norm
        x = np.array([bound_features([x], 1, norm) for x, _ in side])
        return x, np.array([y for _, y in side], dtype=float)

    def minibatches(self) -> tuple[Minibatch, ...]:
        """Return both sides, as the mechanism should see them."""
        model, w = self.terms.make_model(), np.array(self.w)
        return tuple(Minibatch(model, w, *self.rows(side)) for side in self.sides)


def hardest_pairs(mechanism: str, epsilon: float) -> list[Pair]:
    """Yield the pairs that are as hard to hide as any, for the unit that a mechanism protects."""
    kind = MECHANISMS[mechanism]
    if kind.unit is Unit.SAMPLE:
        return list(replaced_pairs(mechanism, epsilon))
    shares = {Role.EVALUATE: "collection.evaluators", Role.COUNT: "collection.counters"}
    roles = [role for role in Role if shares.get(role, "") in {"", *kind.options}]
    return [opposite_pair(role, epsilon, mechanism) for role in roles]


def opposite_pair(
    role: Role, epsilon: float, mechanism: str = "direction", directions: int | None = None
) -> Pair:
    """Make a check-in with one sample, of the label that is predicted or of another one.

    The gradients are opposite, right is wrong, or the answers differ: no two check-ins are more
    different. A count has a third answer between those of the two sides, so that a choice among
    the other answers that is not uniform shows, too.

    Args:
        mechanism: One that protects whole check-ins.
        directions: k; by default the k of tasks.
    """
    labels = ("a", "b", "c")[: 3 if role is Role.COUNT else 2]
    terms = _terms(WantedPrivacy(epsilon, directions=directions), mechanism, batch=1, labels=labels)
    sides: tuple[Samples, Samples] = ((1.0, 0.0),), ((1.0, len(labels) - 1.0),)
    w = (0.0,) * len(labels)
    name = mechanism if role is Role.TRAIN else role.value
    pairs = (Pair(name, terms, f"device-{i}", w, sides) for i in range(10**6))
    return next(pair for pair in pairs if terms.collection.roles.role_of(pair.key) is role)


def person_pairs(mechanism: str, epsilon: float, directions: int | None = None) -> list[Pair]:
    """Make every check-in of a person who trains three times, all of them the opposite.

    Args:
        mechanism: One that protects whole check-ins.
        epsilon: The ε of all three check-ins together.
        directions: k; by default the k of tasks.
    """
    terms = _terms(
        WantedPrivacy(epsilon, directions=directions), mechanism, batch=1, checkins=CHECKINS
    )
    sides: tuple[Samples, Samples] = ((1.0, 0.0),), ((1.0, 1.0),)
    for i in range(10**6):
        pairs = [
            Pair("person", terms, f"device-{i}", (0.0, 0.0), sides, 1 + n) for n in range(CHECKINS)
        ]
        if all(pair.mechanism.role(pair.key) in (None, Role.TRAIN) for pair in pairs):
            return pairs
    raise AssertionError("most check-ins train.")


def replaced_pairs(mechanism: str, epsilon: float, delta: float | None = None) -> Iterator[Pair]:
    """Replace one sample so that everything that depends on it changes as far as it can.

    - `gradient`: a real target that jumps from far below to far above turns the gradient from −S
      to +S, with an x that the device must shorten first.
    - `checkin`: a label that turns from right to wrong at w = 0 turns a gradient round that is
      longer than the clip, moves the error count by one and two label counts by one each.
    - `heldout`: where half of the samples are set aside, the jump among those that are left, and
      the turn among those that are counted. Which ones is drawn; the promise is for every draw, so
      the first are taken.
    """
    counts = COUNTS * epsilon
    labels = WantedPrivacy(epsilon, errors=counts, labels=counts, delta=delta)
    number = WantedPrivacy(epsilon, errors=counts, has_labels=False, delta=delta)
    still = (0.0, 0.0)

    def last(n: int, x: float) -> tuple[Samples, Samples]:
        return (*n * (still,), (x, -FAR_VALUE)), (*n * (still,), (x, FAR_VALUE))

    def turned(before: int, after: int) -> tuple[Samples, Samples]:
        rest = before * (still,), after * (still,)
        return (*rest[0], (1.0, 0.0), *rest[1]), (*rest[0], (1.0, 1.0), *rest[1])

    def pair(name: str, wanted: WantedPrivacy, sides: tuple[Samples, Samples]) -> Pair:
        terms = _terms(wanted, mechanism, len(sides[0]))
        return Pair(name, terms, "device", (0.0,) * terms.make_model().size, sides)

    yield pair("gradient", number, last(2, LONG_NORM))
    yield pair("checkin", labels, turned(2, 0))
    alone = WantedPrivacy(epsilon, heldout=True, has_labels=False, delta=delta)
    yield pair("heldout", alone, last(3, 1.0))
    yield pair("heldout", alone._replace(labels=counts, has_labels=True), turned(0, 3))


def _terms(
    wanted: WantedPrivacy,
    mechanism: str,
    batch: int,
    labels: tuple[str, ...] = ("a", "b"),
    checkins: int = 1,
) -> Terms:
    kind = MECHANISMS[mechanism]
    evaluators, counters = (
        0.3 if f"collection.{role}" in kind.options else 0.0 for role in ("evaluators", "counters")
    )
    return Terms(
        task="audit",
        owner="none",
        contact="none",
        purpose="none",
        sensors="none",
        features=Features(1),
        target=Target(labels if wanted.has_labels else ()),
        model=ModelTerms(
            "softmax" if wanted.has_labels else "huber",
            clip=CLIP if "model.clip" in kind.options else None,
        ),
        privacy=kind.terms.of(wanted),
        collection=CollectionTerms(
            batch,
            buffer=10 * batch,
            heldout=0.5 if wanted.heldout else 0.0,
            checkins=checkins if "collection.checkins" in kind.options else None,
            evaluators=evaluators,
            counters=counters,
        ),
    )
