"""Send one number (a direction, right or wrong, or an answer) and read it on the server."""

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
from crowdml.privacy.checkin_key import CheckinKey
from crowdml.privacy.choice import Choice
from crowdml.privacy.direction.calibration import DirectionCalibration
from crowdml.privacy.direction.codebook import CODE_VARIANCE, Codebook, codewords, in_whole_numbers
from crowdml.privacy.events import CheckinEvent, DirectionEvent, Role
from crowdml.privacy.mechanism import CheckinEstimates, Implausible
from crowdml.privacy.minibatch import MinibatchView
from crowdml.types import Array, Ints

PROBABILITY_STEPS = 2**53
PayloadNumber = Annotated[int, msgspec.Meta(ge=0, le=100_000)]


class DirectionPayload(msgspec.Struct, frozen=True, omit_defaults=True):
    """Carry one small number, in the field that belongs to the role of the check-in.

    Args:
        number: The number of the check-in, 1 … K.
        direction: Set by a check-in that trains: a direction, 0 … k−1.
        wrong: Set by a check-in that evaluates: 1 if the model was wrong about one sample, else 0.
        answer: Set by a check-in that counts: the label of one sample, 0 … C−1.
    """

    samples: ClassVar[None] = None
    """The number of samples is not sent."""

    number: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    direction: PayloadNumber | None = None
    wrong: PayloadNumber | None = None
    answer: PayloadNumber | None = None


FIELDS = {Role.TRAIN: "direction", Role.EVALUATE: "wrong", Role.COUNT: "answer"}
"""The one field that a check-in of each role carries."""


def role_of(payload: DirectionPayload) -> Role:
    """Return the role of the check-in that carries this payload."""
    return next(role for role, field in FIELDS.items() if getattr(payload, field) is not None)


@dataclass(frozen=True)
class DirectionChannel(DirectionCalibration):
    """Choose a number on the device; check and read it on the server."""

    payload_type: ClassVar[type[DirectionPayload]] = DirectionPayload
    largest_payload: ClassVar[int] = 512

    # On the device

    def make_payload(
        self, minibatch: MinibatchView, event: CheckinEvent, key: CheckinKey, chance: Chance
    ) -> DirectionPayload:
        own = key.number, self.epsilon
        if not isinstance(event, DirectionEvent) or (event.number, event.epsilon) != own:
            raise InvalidInput(
                f"an event must be for check-in {key.number} with ε = {self.epsilon:g}, found "
                f"{event}."
            )
        if key.number > self.checkins:
            raise InvalidInput(
                f"a check-in's number must lie in 1 … {self.checkins}, found {key.number}."
            )
        if event.role is Role.TRAIN:
            return DirectionPayload(key.number, direction=self._direction(minibatch, key, chance))
        truth = int(self._true_numbers(minibatch, event.role)[chance.below(minibatch.n_samples)])
        number = self._randomized_response(truth, self.choice_of(event.role), chance)
        return DirectionPayload(key.number, **{FIELDS[event.role]: number})

    def _direction(self, minibatch: MinibatchView, key: CheckinKey, chance: Chance) -> int:
        scores, turned = self._scores(minibatch, key)
        if chance.below(PROBABILITY_STEPS) < turned * PROBABILITY_STEPS:
            scores = -scores
        return self.choice.choose(self._ranked(scores), chance)

    def _scores(self, minibatch: MinibatchView, key: CheckinKey) -> tuple[Array, float]:
        """Compute how close each direction is to u, and the probability of reversing u.

        Reversing u at random makes the length of a short u right on average.
        """
        everyone = np.ones(minibatch.n_samples, dtype=np.bool_)
        u = minibatch.mean_gradient(everyone, math.inf, self.norm)
        whole, length = in_whole_numbers(u + self.regularization * minibatch.w)
        scores = self._codebook(key).scores(whole, self.directions)
        return scores, (1 - min(1.0, length / self.length)) / 2

    def _ranked(self, scores: Array) -> Ints:
        """List the t closest directions, then the others, each part in the order of its numbers.

        With this order the same random draws name the same direction in every language. Of
        directions that are equally close the one with the lowest number counts as closer.
        """
        keys = np.arange(self.directions) - self.directions * scores  # exact: all below 2⁵³
        closest, others = np.split(np.argpartition(keys, self.closest - 1), [self.closest])
        return np.concatenate([np.sort(closest), np.sort(others)]).astype(np.int64)

    @staticmethod
    def _true_numbers(minibatch: MinibatchView, role: Role) -> Ints:
        """Return what each sample would have this role send without randomness."""
        if role is Role.EVALUATE:
            return minibatch.mistakes().astype(np.int64)
        return minibatch.labels

    @staticmethod
    def _randomized_response(truth: int, choice: Choice, chance: Chance) -> int:
        others = [number for number in range(choice.k) if number != truth]
        return choice.choose(np.array([truth, *others]), chance)

    # On the server

    def check(self, payload: DirectionPayload, key: CheckinKey) -> None:
        if payload.number > self.checkins:
            raise Implausible(
                "too-many-checkins",
                f"number must be at most {self.checkins}, found {payload.number}. All check-ins of "
                "this device are made.",
            )
        role = self.roles.role_of(key)
        own = FIELDS[role]
        sent = [field for field in FIELDS.values() if getattr(payload, field) is not None]
        if sent != [own]:
            raise Implausible(
                "wrong-role",
                f"check-in {payload.number} of this device must {role} and carry `{own}` "
                f"alone, found {' and '.join(f'`{field}`' for field in sent) or 'nothing'}.",
            )
        found, most = getattr(payload, own), self.choice_of(role).k - 1
        if found > most:
            raise Implausible("implausible", f"{own} must lie in 0 … {most}, found {found}.")

    def read(self, payload: DirectionPayload, key: CheckinKey) -> CheckinEstimates:
        """Read S·v_j/m, or a response corrected for the bias of its randomness.

        Responses are right on average. So is a gradient that is spread over many numbers. A
        gradient in few numbers is read up to 13 % too short for k = 1,024, and up to 22 % for
        k = 4,096, because codewords are not quite normal.
        """
        return next(self.read_all([payload], [key]))

    def read_all(
        self, payloads: Sequence[DirectionPayload], keys: Sequence[CheckinKey]
    ) -> Iterator[CheckinEstimates]:
        trained = [(t, p) for t, p in zip(payloads, keys, strict=True) if t.direction is not None]
        rows = codewords(
            [self._codebook(key) for _, key in trained],
            [payload.direction for payload, _ in trained if payload.direction is not None],
        )
        gradients = chain.from_iterable(some * self._step for some in rows)
        for payload in payloads:
            if payload.wrong is not None:
                errors = self._unbiased(Role.EVALUATE, payload.wrong)
                yield CheckinEstimates(evaluated=1, errors=errors, reported_errors=payload.wrong)
            elif payload.answer is not None:
                yield CheckinEstimates(labels=self._labels[payload.answer], labelled=1)
            else:
                yield CheckinEstimates(g=next(gradients))

    def _unbiased(self, role: Role, sent: int) -> float:
        """Return an unbiased estimate of a truth, 0 or 1, that was sent as 0 or 1."""
        choice = self.choice_of(role)
        return (sent - choice.unlikely) / (choice.likely - choice.unlikely)

    @cached_property
    def _labels(self) -> tuple[tuple[float, ...], ...]:
        """Return a row for each answer that can be sent: the estimate for each label."""
        no, yes = (self._unbiased(Role.COUNT, sent) for sent in (0, 1))
        labels = range(self.n_classes)
        return tuple(tuple(yes if k == answer else no for k in labels) for answer in labels)

    @cached_property
    def _step(self) -> float:
        return self.length / (math.sqrt(CODE_VARIANCE) * self.choice.pull)

    def _codebook(self, key: CheckinKey) -> Codebook:
        return Codebook(self.size, key)
