"""Compute what a task promises to a participant: one value, with every sentence about it.

Pages, commands, cards and ledgers read this value and write its sentences. None of them computes
or words a promise by itself. `web/protocol/promise.js` and the one-file device compute the same
value from the same terms, and `tests/vectors/promise.json` holds all three to it.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from crowdml.phrase import Phrase
from crowdml.privacy import PRIVATE_UP_TO, Loss, Mechanism, Role, Unit, excess_probability
from crowdml.protocol.numbers_in_words import certainty_of_loss, round_half_up
from crowdml.protocol.sentences import (
    LOSS_SENTENCES,
    SENDING_SENTENCES,
    SHORT_LOSS_SENTENCES,
    sentences_of,
)

if TYPE_CHECKING:
    from crowdml.protocol.terms import Terms

USUAL_CHECKINS = 20
"""The most check-ins of a device, where neither the terms nor the participant set a number."""

ROUNDING_FACTOR = 1 + 1e-9
"""Room for the rounding of sums of floats, so that ten times 0.1 is at most 1."""

MOST_SHARED = 1000
"""Shares are written as n of at most this many check-ins."""

Whom: TypeAlias = Literal["person", "sample", "reading"]
"""What a promise protects: two data sets that differ in it are hard to distinguish."""


class PrivacyLevel(NamedTuple):
    """Describe a level of ε in plain words.

    Args:
        most: The largest ε that has this level.
        key: The level in code and in style sheets.
        pill: The level as a label.
        word: The level inside a sentence.
    """

    most: float
    key: str
    pill: Phrase
    word: Phrase


PRIVACY_LEVELS = (
    PrivacyLevel(0.1, "very-strong", Phrase("Very strong privacy"), Phrase("very strong")),
    PrivacyLevel(1.0, "strong", Phrase("Strong privacy"), Phrase("strong")),
    PrivacyLevel(4.0, "moderate", Phrase("Moderate privacy"), Phrase("moderate")),
    PrivacyLevel(10.0, "weak", Phrase("Weak privacy"), Phrase("weak")),
    PrivacyLevel(PRIVATE_UP_TO, "very-weak", Phrase("Very weak privacy"), Phrase("very weak")),
    PrivacyLevel(math.inf, "none", Phrase("Not private"), Phrase("not private")),
)


class RoleShare(NamedTuple):
    """Describe a role of check-ins.

    Args:
        role: What such a check-in sends.
        n: In this many …
        of: … of this many check-ins, on average.
        truth: The probability that it sends one of the numbers that fit the samples best.
    """

    role: Role
    n: int
    of: int
    truth: float


@dataclass(frozen=True)
class Promise:
    """Bound how much everything that leaves a device can reveal.

    The three kinds of ε say what is replaced: one sample, everything in one check-in, or everything
    that a person sends to the task.

    Args:
        whom: Whom the promise of the terms is for.
        checkins: How many check-ins the promise counts: those that the participant allows.
        batch: b.
        epsilon_per_sample: ε for one sample.
        epsilon_per_checkin: ε for everything in one check-in; None where it grows with samples.
        epsilon_per_person: ε for everything that `checkins` check-ins send; None as above.
        epsilon_per_reading: ε for one reading of the sensor, which may be in several samples.
        epsilon_over_checkins: ε for one unit in each of `checkins` check-ins: a check-in, or one
            of its samples.
        bound: The most that log P/P′ becomes, which is ε; with a δ, except with
            `excess_probability`.
        bound_of_one: The same for one check-in, or for a sample in one.
        shared: The most samples that one reading is in.
        delta: δ; 0 where the promise has none.
        excess_probability: The probability that log P/P′ exceeds `bound`, at most: δ or ten times
            δ.
        first_labels: The first two labels; empty where a number is predicted.
        tolerance: How far a predicted number may be off and still be right.
        directions: k; 0 for noise.
        numbers: How many numbers a check-in carries.
        has_labels: Whether samples have labels, so that check-ins count answers.
        roles: The roles of check-ins; empty for noise.
    """

    mechanism: str
    whom: Whom
    checkins: int
    batch: int
    epsilon_per_sample: float
    epsilon_per_checkin: float | None
    epsilon_per_person: float | None
    epsilon_per_reading: float
    epsilon_over_checkins: float
    bound: float
    bound_of_one: float
    shared: int
    delta: float
    excess_probability: float
    first_labels: tuple[str, ...]
    tolerance: float
    directions: int
    numbers: int
    has_labels: bool
    roles: tuple[RoleShare, ...]

    @classmethod
    def of(
        cls, terms: "Terms", checkins: int | None = None, sent: Iterable[Loss] = ()
    ) -> "Promise":
        """Compute the promise of a task.

        Args:
            checkins: How many check-ins the participant allows; by default what the terms say, or
                else as many as are usual. A task that is not private stays so with fewer.
            sent: What the check-ins so far have cost, perhaps on other terms. They count even if
                the participant allows fewer by now.
        """
        mechanism, loss = terms.mechanism(), terms.loss
        whole = mechanism.unit is Unit.CHECKIN
        usual = usual_checkins(terms)
        shared = 1 if whole else terms.shared
        reading = loss.group(shared)
        by_default = max(loss.times(usual).total, reading.total)
        limited = checkins is not None and by_default <= PRIVATE_UP_TO * ROUNDING_FACTOR
        past = tuple(sent)
        n_checkins = (
            min(checkins, terms.most_checkins) if limited and checkins is not None else usual
        )
        n_checkins = max(n_checkins, len(past))
        over_checkins = Loss.sum([*past, loss.times(n_checkins - len(past))])
        return cls(
            mechanism=terms.mechanism_name,
            whom="person" if whole else "sample" if shared == 1 else "reading",
            checkins=n_checkins,
            batch=terms.collection.batch,
            epsilon_per_sample=loss.total,
            epsilon_per_checkin=loss.total if whole else None,
            epsilon_per_person=over_checkins.total if whole else None,
            epsilon_per_reading=reading.total,
            epsilon_over_checkins=over_checkins.total,
            bound=max(over_checkins.bound, reading.bound),
            bound_of_one=loss.bound,
            shared=shared,
            delta=loss.delta,
            excess_probability=excess_probability(loss.delta, mechanism.counts_share),
            first_labels=terms.target.labels[:2],
            tolerance=terms.model.tolerance,
            directions=terms.privacy.directions,
            numbers=mechanism.numbers,
            has_labels=terms.n_classes > 0,
            roles=_roles(terms, mechanism),
        )

    # What follows from these numbers

    @property
    def epsilon(self) -> float:
        """Return the ε that decides the level: the largest that is promised."""
        return max(self.epsilon_over_checkins, self.epsilon_per_reading)

    @property
    def private(self) -> bool:
        """Return whether the promise is strong enough to be called private."""
        return self.epsilon <= PRIVATE_UP_TO * ROUNDING_FACTOR

    @property
    def epsilon_of_terms(self) -> float:
        """Return the ε that the terms promise, for `whom`."""
        return self.epsilon_over_checkins if self.whom == "person" else self.epsilon_per_reading

    @property
    def for_a_reading(self) -> bool:
        """Return whether a single reading loses more than one sample in each of the check-ins."""
        return self.epsilon_per_reading > self.epsilon_over_checkins

    @property
    def exact(self) -> bool:
        """Return whether numbers are sent exactly, without randomness."""
        return math.isinf(self.epsilon_per_sample)

    @cached_property
    def level(self) -> PrivacyLevel:
        return next(
            level for level in PRIVACY_LEVELS if self.epsilon <= level.most * ROUNDING_FACTOR
        )

    @property
    def certainty(self) -> float:
        """Return how sure somebody with a fifty-fifty guess can become, at most."""
        return certainty_of_loss(self.bound)

    @property
    def certainty_of_one(self) -> float:
        """Return the same certainty from one check-in, or about a sample in one."""
        return certainty_of_loss(self.bound_of_one)

    @property
    def weak(self) -> bool:
        """Return whether a guess can become nearly certain."""
        return self.epsilon > WEAK_FROM * ROUNDING_FACTOR

    # Sentences

    @cached_property
    def sentences(self) -> Mapping[str, Phrase]:
        """List every sentence about the promise by name, in reading order."""
        return MappingProxyType(dict(sentences_of(self)))

    @property
    def what_leaves(self) -> tuple[Phrase, ...]:
        """List the sentences that say what a device sends."""
        return self._named(*SENDING_SENTENCES)

    @property
    def what_is_lost(self) -> tuple[Phrase, ...]:
        """List the sentences that say what can be learnt from everything that is sent."""
        return self._named(*LOSS_SENTENCES)

    @property
    def sending_in_short(self) -> tuple[Phrase, ...]:
        """Return the sentences by which a reader decides; `what_leaves` adds the details."""
        return self._named("stays", "answer", "hides")

    @property
    def loss_in_short(self) -> tuple[Phrase, ...]:
        """Return the sentences of `what_is_lost` by which a reader decides."""
        return self._named(*SHORT_LOSS_SENTENCES)

    def _named(self, *names: str) -> tuple[Phrase, ...]:
        return tuple(self.sentences[name] for name in names if name in self.sentences)


WEAK_FROM = 4.0
"""Above this ε, a guess can become nearly certain."""


def usual_checkins(terms: "Terms") -> int:
    """Return how many check-ins a device makes where the participant does not say.

    The default is never above the largest ε that is called private, unless one check-in already
    is: then the task is not private, however few there are.
    """
    if terms.collection.checkins is not None:
        return terms.collection.checkins
    return min(USUAL_CHECKINS, terms.checkins_within(PRIVATE_UP_TO) or USUAL_CHECKINS)


def _roles(terms: "Terms", mechanism: Mechanism) -> tuple[RoleShare, ...]:
    truth = mechanism.truth_probability
    if not truth:
        return ()
    shares = {role: terms.collection.roles.share(role) for role in truth}
    of = _denominator(*(share for role, share in shares.items() if role is not Role.TRAIN))
    n = {role: max(1, round_half_up(share * of)) for role, share in shares.items()}
    n[Role.TRAIN] = of - sum(n.values()) + n[Role.TRAIN]
    return tuple(RoleShare(role, n[role], of, truth[role]) for role in n)


def _denominator(*shares: float) -> int:
    """Return the least number of check-ins of which these shares are whole numbers."""

    def fits(share: float, of: int) -> bool:
        n = round_half_up(share * of)
        return abs(share * of - n) < 1e-6 and (n > 0 or share == 0)

    every = (of for of in range(1, MOST_SHARED) if all(fits(share, of) for share in shares))
    return next(every, MOST_SHARED)
