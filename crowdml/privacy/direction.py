"""A check-in that says one of k directions: privacy for everything in it at once."""

import hashlib
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
from crowdml.privacy.events import CheckinEvent, DirectionEvent
from crowdml.privacy.loss import Unit
from crowdml.privacy.mechanism import Implausible, Place, Reading, require_own
from crowdml.privacy.minibatch import Minibatch
from crowdml.types import Array, Ints

__all__ = ["Directed", "DirectionMechanism"]

LENGTH = 0.3
"""S·b: an average gradient this long or longer counts as a direction alone."""

FINE = 2**53
Number = Annotated[int, msgspec.Meta(ge=0, le=100_000)]


class Directed(msgspec.Struct, frozen=True, omit_defaults=True):
    """One small number: a direction from a check-in that trains, a report from one that evaluates.

    Args:
        number: That of the check-in, 1 … K.
        direction: 0 … k−1.
        report: 0 … R−1: twice the label's number, plus one if the prediction was wrong.
    """

    samples: ClassVar[None] = None
    """How many there were is not told."""

    number: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    direction: Number | None = None
    report: Number | None = None


@dataclass(frozen=True)
class DirectionMechanism:
    """Rank k public directions by the gradient, and name one of the best, or of the others.

    Whatever the gradient is, each number is sent with one of two known probabilities, so nothing
    about x, w or the codebook needs to be trusted or bounded: see `Choice`.

    A check-in either trains or evaluates, by a public rule, and spends all of its ε on that. One
    that evaluates draws one of its samples, predicts it, and tells (label, right or wrong) by
    randomised response, which is the same choice with one best number.

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
        evaluators: The share of check-ins that evaluate.
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
    evaluators: float = 0.2
    scale: float = 1.0
    regularization: float = 0.0

    unit: ClassVar[Unit] = Unit.CHECKIN
    norm: ClassVar[int] = 2
    told: ClassVar[type[Directed]] = Directed
    largest_message: ClassVar[int] = 512

    def __post_init__(self) -> None:
        """Refuse at once what cannot be chosen."""
        _ = self.choice, self._evaluating

    @cached_property
    def choice(self) -> Choice:
        """Of a direction, in a check-in that trains."""
        return Choice(self.directions, self.closest, self.epsilon)

    @cached_property
    def _evaluating(self) -> Choice:
        return Choice(self.reports, 1, self.epsilon)

    @property
    def private_bytes(self) -> int:
        return len(str(max(self.directions, self.reports) - 1))

    @property
    def reports(self) -> int:
        """R: right or wrong for each label; for numbers, within the tolerance or not."""
        return 2 * max(self.n_classes, 1)

    def evaluates(self, place: Place) -> bool:
        """Whether this check-in evaluates: public, and not for the device to choose."""
        text = f"{place.terms_sha256}\n{place.device}\n{place.number}\nrole"
        draw = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
        return draw < self.evaluators * 2**32

    def event(self, n_samples: int, place: Place) -> DirectionEvent:
        what = "report" if self.evaluates(place) else "direction"
        return DirectionEvent(place.number, what, self.epsilon)

    # On the device

    def tell(
        self, minibatch: Minibatch, event: CheckinEvent, place: Place, chance: Chance
    ) -> Directed:
        require_own(event, self.event(minibatch.n_samples, place))
        if place.number > self.checkins:
            raise InvalidInput(
                f"a check-in's number must lie in 1 … {self.checkins}, found {place.number}."
            )
        if self.evaluates(place):
            return Directed(place.number, report=self._report(minibatch, chance))
        scores, turned = self._scores(minibatch, place)
        if chance.below(FINE) < turned * FINE:
            scores = -scores
        return Directed(place.number, direction=self.choice.tell(self._ranked(scores), chance))

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

    def _report(self, minibatch: Minibatch, chance: Chance) -> int:
        i = chance.below(minibatch.n_samples)
        label = int(minibatch.labels[i]) if self.n_classes else 0
        truth = 2 * label + int(minibatch.mistakes()[i])
        others = [report for report in range(self.reports) if report != truth]
        return self._evaluating.tell(np.array([truth, *others]), chance)

    def choice_at(self, place: Place) -> Choice:
        """How the number of this check-in is chosen."""
        return self._evaluating if self.evaluates(place) else self.choice

    def probability(self, told: Directed, minibatch: Minibatch, place: Place) -> float:
        """How likely these samples were to tell this: as secret as they are."""
        choice = self.choice_at(place)
        if told.report is not None:
            labels = minibatch.labels if self.n_classes else 0
            best = float(np.mean(2 * labels + minibatch.mistakes() == told.report))
        else:
            scores, turned = self._scores(minibatch, place)
            orders = ((self._ranked(scores), 1 - turned), (self._ranked(-scores), turned))
            best = sum(p for order, p in orders if told.direction in order[: self.closest])
        return choice.unlikely + best * (choice.likely - choice.unlikely)

    # On the server

    def check(self, told: Directed, place: Place) -> None:
        if told.number > self.checkins:
            raise Implausible(
                "too-many-checkins",
                f"number must be at most {self.checkins}, found {told.number}. All check-ins of "
                "this device are made.",
            )
        wanted, other = ("report", "direction")[:: 1 if self.evaluates(place) else -1]
        found = getattr(told, wanted)
        if found is None or getattr(told, other) is not None:
            raise Implausible(
                "wrong-role", f"check-in {told.number} of this device must carry a {wanted} alone."
            )
        most = (self.reports if wanted == "report" else self.directions) - 1
        if found > most:
            raise Implausible("implausible", f"{wanted} must lie in 0 … {most}, found {found}.")

    def read(self, told: Directed, place: Place) -> Reading:
        """S·v_j/m, or the debiased report: both are right on average."""
        return next(self.read_all([told], [place]))

    def read_all(self, told: Sequence[Directed], places: Sequence[Place]) -> Iterator[Reading]:
        trained = [(t, p) for t, p in zip(told, places, strict=True) if t.direction is not None]
        rows = codewords(
            [self._codebook(place) for _, place in trained],
            [one.direction for one, _ in trained if one.direction is not None],
        )
        gradients = chain.from_iterable(some * self._step for some in rows)
        for one in told:
            if one.report is None:
                yield Reading(g=next(gradients))
            else:
                yield self._read_report(one.report)

    @cached_property
    def _step(self) -> float:
        return self.length / (math.sqrt(VARIANCE) * self.choice.pull)

    def _read_report(self, report: int) -> Reading:
        label, wrong = divmod(report, 2)
        gain, other = self._gain, self._other
        labels = (
            tuple(((k == label) - 2 * other) / gain for k in range(self.n_classes))
            if self.n_classes
            else ()
        )
        errors = (wrong - self.reports / 2 * other) / gain
        return Reading(
            evaluated=1,
            errors=errors,
            counted=wrong,
            labels=labels,
            labelled=1 if self.n_classes else 0,
        )

    @cached_property
    def _other(self) -> float:
        """The probability of each report that is not the truth."""
        return (1 - self._evaluating.p) / (self.reports - 1)

    @property
    def _gain(self) -> float:
        return self._evaluating.p - self._other

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
        """The same whether the prediction was right or wrong."""
        wrong = self.reports / 2 * self._other
        return wrong * (1 - wrong) / self._gain**2

    def counted_at(self, error: float, evaluated: int) -> tuple[float, float]:
        mean = self.reports / 2 * self._other + error * self._gain
        return evaluated * mean, evaluated * mean * (1 - mean)

    @cached_property
    def label_variance(self) -> float:
        if not self.n_classes:
            return 0.0
        chances = (2 * self._other, self._evaluating.p + self._other)
        return max(chance * (1 - chance) for chance in chances) / self._gain**2
