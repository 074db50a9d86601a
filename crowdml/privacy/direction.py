"""A check-in that says one of k directions: privacy for everything in it at once."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Annotated, ClassVar

import msgspec
import numpy as np

from crowdml.errors import InvalidInput
from crowdml.privacy.chance import Chance
from crowdml.privacy.choice import Choice
from crowdml.privacy.codebook import VARIANCE, Codebook, codewords
from crowdml.privacy.events import CheckinEvent, DirectionEvent, Role
from crowdml.privacy.loss import Unit
from crowdml.privacy.mechanism import Implausible, Place, Reading
from crowdml.privacy.minibatch import Minibatch
from crowdml.privacy.roles import ALL_TRAIN, Roles
from crowdml.types import Array, Ints

__all__ = ["FIELDS", "Directed", "DirectionMechanism", "role_of"]

LENGTH = 0.3
"""S·b: an average gradient this long or longer counts as a direction alone."""

FINE = 2**53
Number = Annotated[int, msgspec.Meta(ge=0, le=100_000)]


class Directed(msgspec.Struct, frozen=True, omit_defaults=True):
    """One small number. Which of the three it is follows from the role of the check-in.

    Args:
        number: The number of the check-in, 1 … K.
        direction: From a check-in that trains: a direction, 0 … k−1.
        wrong: From a check-in that evaluates: 1 if the model was wrong about one sample, else 0.
        answer: From a check-in that counts: the label of one sample, 0 … C−1.
    """

    samples: ClassVar[None] = None
    """The number of samples is not sent."""

    number: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    direction: Number | None = None
    wrong: Number | None = None
    answer: Number | None = None


FIELDS = {Role.TRAIN: "direction", Role.EVALUATE: "wrong", Role.COUNT: "answer"}
"""The one field that a check-in of each role carries."""


@dataclass(frozen=True)
class DirectionMechanism:
    """Rank k public directions by the gradient, and name one of the best, or of the others.

    Whatever the gradient is, each number is sent with one of two known probabilities, so nothing
    about x, w or the codebook needs to be trusted or bounded: see `Choice`.

    A public rule gives each check-in one role, and the check-in spends all of its ε on it (see
    `Roles`). To evaluate, it draws one of its samples, predicts it, and sends right or wrong; to
    count, it draws one and sends its label. Both are randomised response, which is the same choice
    with one best number of 2 or of C.

    A device that lies can only send another number of a codebook that it did not choose. On
    average over codebooks even the worst of them pushes no more than `leverage` times as far as
    an honest check-in does: 3.25/m for k = 1024, which is 2.15 at ε = 4 and 1.05 at ε = 10.

    Args:
        epsilon: ε of one check-in.
        directions: k.
        closest: t.
        size: d, the number of parameters.
        n_classes: C; 0 for a real target.
        batch: b.
        checkins: K, the most check-ins of a device.
        roles: The shares of check-ins that evaluate and that count.
        scale: The typical size of a real target; 1 for labels.
        regularization: λ.

    Reference: Isik, Chen, Özgür, Weissman, No, NeurIPS 2023 (k-closest encoding).
    """

    epsilon: float
    directions: int
    closest: int
    size: int
    n_classes: int = 0
    batch: int = 1
    checkins: int = 1
    roles: Roles = ALL_TRAIN
    scale: float = 1.0
    regularization: float = 0.0

    unit: ClassVar[Unit] = Unit.CHECKIN
    norm: ClassVar[int] = 2
    told: ClassVar[type[Directed]] = Directed
    largest_message: ClassVar[int] = 512

    def __post_init__(self) -> None:
        """Refuse at once what cannot be chosen."""
        if self.roles.counters and not self.n_classes:
            raise InvalidInput(
                "counters must be 0 where a number is predicted, because there are no answers to "
                f"count, found {self.roles.counters:g}."
            )
        _ = self.choice, self.choice_of(Role.EVALUATE)

    @cached_property
    def choice(self) -> Choice:
        """How a check-in that trains chooses its direction."""
        return Choice(self.directions, self.closest, self.epsilon)

    def choice_of(self, role: Role) -> Choice:
        """How a check-in of this role chooses its number."""
        return self.choice if role is Role.TRAIN else self._responses[role]

    @cached_property
    def _responses(self) -> dict[Role, Choice]:
        numbers = {Role.EVALUATE: 2, Role.COUNT: max(self.n_classes, 2)}
        return {role: Choice(k, 1, self.epsilon) for role, k in numbers.items()}

    @property
    def private_bytes(self) -> int:
        return len(str(max(self.choice_of(role).k for role in Role) - 1))

    def event(self, n_samples: int, place: Place) -> DirectionEvent:
        return DirectionEvent(place.number, self.roles.of(place), self.epsilon)

    # On the device

    def tell(
        self, minibatch: Minibatch, event: CheckinEvent, place: Place, chance: Chance
    ) -> Directed:
        if not isinstance(event, DirectionEvent) or (event.number, event.epsilon) != (
            place.number,
            self.epsilon,
        ):
            raise InvalidInput(
                f"an event must be for check-in {place.number} with ε = {self.epsilon:g}, found "
                f"{event}."
            )
        if place.number > self.checkins:
            raise InvalidInput(
                f"a check-in's number must lie in 1 … {self.checkins}, found {place.number}."
            )
        if event.role is Role.TRAIN:
            return Directed(place.number, direction=self._direction(minibatch, place, chance))
        truth = int(self._truths(minibatch, event.role)[chance.below(minibatch.n_samples)])
        number = self._respond(truth, self.choice_of(event.role), chance)
        return Directed(place.number, **{FIELDS[event.role]: number})

    def _direction(self, minibatch: Minibatch, place: Place, chance: Chance) -> int:
        scores, turned = self._scores(minibatch, place)
        if chance.below(FINE) < turned * FINE:
            scores = -scores
        return self.choice.tell(self._ranked(scores), chance)

    def _scores(self, minibatch: Minibatch, place: Place) -> tuple[Array, float]:
        """How close each direction is to u, and the chance that u is turned round.

        That makes the length of a short u right on average.
        """
        everyone = np.ones(minibatch.n_samples, dtype=np.bool_)
        u = minibatch.mean_gradient(everyone, math.inf, self.norm)
        u = u + self.regularization * minibatch.w
        length = float(np.linalg.norm(u))
        # Divided by its length, so that no w that a server may send makes it overflow.
        scores = self._codebook(place).scores(u / (length or 1.0), self.directions)
        return scores, (1 - min(1.0, length / self.length)) / 2

    def _ranked(self, scores: Array) -> Ints:
        """All directions, the closest first, and in both parts in the order of their numbers, so
        that the same draws name the same direction in every language."""
        closest, others = np.split(np.argpartition(-scores, self.closest - 1), [self.closest])
        return np.concatenate([np.sort(closest), np.sort(others)]).astype(np.int64)

    @staticmethod
    def _truths(minibatch: Minibatch, role: Role) -> Ints:
        """What each sample would have this role send, if nothing were left to chance."""
        if role is Role.EVALUATE:
            return minibatch.mistakes().astype(np.int64)
        return minibatch.labels

    @staticmethod
    def _respond(truth: int, choice: Choice, chance: Chance) -> int:
        others = [number for number in range(choice.k) if number != truth]
        return choice.tell(np.array([truth, *others]), chance)

    def probability(self, told: Directed, minibatch: Minibatch, place: Place) -> float:
        """How likely these samples were to send this: as secret as the samples are."""
        role = role_of(told)
        choice = self.choice_of(role)
        if role is Role.TRAIN:
            scores, turned = self._scores(minibatch, place)
            orders = ((self._ranked(scores), 1 - turned), (self._ranked(-scores), turned))
            best = sum(p for order, p in orders if told.direction in order[: self.closest])
        else:
            best = float(np.mean(self._truths(minibatch, role) == getattr(told, FIELDS[role])))
        return choice.unlikely + best * (choice.likely - choice.unlikely)

    # On the server

    def check(self, told: Directed, place: Place) -> None:
        if told.number > self.checkins:
            raise Implausible(
                "too-many-checkins",
                f"number must be at most {self.checkins}, found {told.number}. All check-ins of "
                "this device are made.",
            )
        role = self.roles.of(place)
        sent = [field for field in FIELDS.values() if getattr(told, field) is not None]
        if sent != [FIELDS[role]]:
            raise Implausible(
                "wrong-role",
                f"check-in {told.number} of this device must {role} and carry `{FIELDS[role]}` "
                f"alone, found {' and '.join(f'`{field}`' for field in sent) or 'nothing'}.",
            )
        found, most = getattr(told, FIELDS[role]), self.choice_of(role).k - 1
        if found > most:
            raise Implausible(
                "implausible", f"{FIELDS[role]} must lie in 0 … {most}, found {found}."
            )

    def read(self, told: Directed, place: Place) -> Reading:
        """Read S·v_j/m, or a response without the bias of chance: all are right on average."""
        return next(self.read_all([told], [place]))

    def read_all(self, told: Sequence[Directed], places: Sequence[Place]) -> Iterator[Reading]:
        trained = [(t, p) for t, p in zip(told, places, strict=True) if t.direction is not None]
        rows = codewords(
            [self._codebook(place) for _, place in trained],
            [one.direction for one, _ in trained if one.direction is not None],
        )
        gradients = chain.from_iterable(some * self._step for some in rows)
        for one in told:
            if one.wrong is not None:
                errors = self._unbiased(Role.EVALUATE, one.wrong)
                yield Reading(evaluated=1, errors=errors, counted=one.wrong)
            elif one.answer is not None:
                yield Reading(labels=self._labels[one.answer], labelled=1)
            elif one.direction is not None:
                yield Reading(g=next(gradients))
            else:
                raise InvalidInput(
                    f"check-in {one.number} must carry a direction, right or wrong, or an answer, "
                    "found none of them. An earlier version of crowdml has written this log: "
                    "export its model with that version, and start a new task."
                )

    def _unbiased(self, role: Role, sent: int) -> float:
        """Return an unbiased estimate of a truth, 0 or 1, that was sent as 0 or 1."""
        choice = self.choice_of(role)
        return (sent - choice.unlikely) / (choice.likely - choice.unlikely)

    @cached_property
    def _labels(self) -> tuple[tuple[float, ...], ...]:
        """For each answer that can be sent, the estimate for each label."""
        no, yes = (self._unbiased(Role.COUNT, sent) for sent in (0, 1))
        labels = range(self.n_classes)
        return tuple(tuple(yes if k == answer else no for k in labels) for answer in labels)

    @cached_property
    def _step(self) -> float:
        return self.length / (math.sqrt(VARIANCE) * self.choice.pull)

    def _codebook(self, place: Place) -> Codebook:
        return Codebook(self.size, place.terms_sha256, place.device, place.number)

    # What is known beforehand

    @property
    def length(self) -> float:
        return LENGTH * self.scale / self.batch

    @property
    def leverage(self) -> float:
        """How many times as far as an honest device one can push that lies, on average."""
        return self.choice.leverage

    @cached_property
    def noise_energy(self) -> float:
        return self.size * (self.length / self.choice.pull) ** 2

    @cached_property
    def error_variance(self) -> float:
        """q(1 − q)/(p − q)²: the same whether the prediction was right or wrong."""
        return self._variance(Role.EVALUATE, self.choice_of(Role.EVALUATE).unlikely)

    def counted_at(self, error: float, evaluated: int) -> tuple[float, float]:
        choice = self.choice_of(Role.EVALUATE)
        mean = choice.unlikely + error * (choice.likely - choice.unlikely)
        return evaluated * mean, evaluated * mean * (1 - mean)

    @cached_property
    def label_variance(self) -> float:
        if not self.n_classes:
            return 0.0
        choice = self.choice_of(Role.COUNT)
        return max(self._variance(Role.COUNT, each) for each in (choice.likely, choice.unlikely))

    def _variance(self, role: Role, probability: float) -> float:
        """Return the variance of the estimate from a number sent with this probability."""
        choice = self.choice_of(role)
        return probability * (1 - probability) / (choice.likely - choice.unlikely) ** 2


def role_of(told: Directed) -> Role:
    """Return the role of the check-in that carries this."""
    return next(role for role, field in FIELDS.items() if getattr(told, field) is not None)
