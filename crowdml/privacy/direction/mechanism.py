"""Send one of k directions, which is private for everything in the check-in at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crowdml.phrase import Phrase
from crowdml.privacy.checkin_key import CheckinKey
from crowdml.privacy.choice import Choice, best_closest
from crowdml.privacy.direction.channel import FIELDS, DirectionChannel, DirectionPayload, role_of
from crowdml.privacy.events import Role
from crowdml.privacy.loss import Loss
from crowdml.privacy.minibatch import MinibatchView
from crowdml.privacy.shown import Dial, ShownChoice, ShownPayload, WatchedMinibatch
from crowdml.privacy.stand_in import StandIn
from crowdml.types import Array

SMALLEST_PROBABILITY = 1e-300
"""Replaces the probability 0 of a number that a broken coin never sends: 0 has no logarithm."""


@dataclass(frozen=True)
class DirectionMechanism(DirectionChannel):
    """Rank k public directions by the gradient, and send the number of one of them.

    Whatever the gradient is, each number is sent with one of two known probabilities. So x, w and
    the codebook need not be trusted or bounded: see `Choice`.

    A public rule gives each check-in one role, and the check-in spends all of its ε on that role
    (see `Roles`). To evaluate, the device draws one of its samples, predicts it, and sends right or
    wrong. To count, it draws one sample and sends its label. Both are randomised response, which is
    the same choice with one best number of 2 or of C.

    A device that lies can only send another number of a codebook that it did not choose. On
    average over codebooks the worst number pushes w by 3.25/m times S for k = 1024
    (`Choice.leverage`), which is 2.15 S at ε = 4 and 1.05 S at ε = 10. An honest check-in pushes w
    by min(1, ‖u‖/S) times S, so a liar pushes 3.25/(m·E min(1, ‖u‖/S)) times as far.
    docs/threats.md has the figures of real runs, and what a liar gains by choosing among many
    names.

    `DirectionCalibration` has the fields, and the payload is a `DirectionPayload`. This class adds
    what simulations, pictures, worked examples and audits need.

    Reference: Isik, Chen, Özgür, Weissman, No, NeurIPS 2023 (k-closest encoding).
    """

    def stand_in(self, noisy: bool) -> StandIn:
        from crowdml.privacy.direction.stand_in import DirectionStandIn

        return DirectionStandIn(self, noisy)

    def picture(self, epsilon: float, n_samples: int) -> Dial:
        k, own = self.directions, epsilon == self.epsilon
        return Dial(Choice(k, self.closest if own else best_closest(k, epsilon), epsilon))

    def show(
        self,
        payload: DirectionPayload,
        minibatch: WatchedMinibatch,
        key: CheckinKey,
        labels: Sequence[str],
    ) -> ShownPayload:
        role, (number,) = role_of(payload), self.private_numbers(payload)
        choice = self.choice_of(role)
        says: str | Phrase = ""
        if role is Role.EVALUATE:
            says = Phrase("wrong") if number else Phrase("right")
        elif role is Role.COUNT:
            says = labels[number]
        these = self.probability(payload, minibatch, key)
        title, about = _about(role, choice.k)
        return ShownPayload(
            chosen=ShownChoice(title, about, number, says, these, choice.likely, choice.unlikely)
        )

    def private_numbers(self, payload: DirectionPayload) -> list[int]:
        return [n for n in (payload.direction, payload.wrong, payload.answer) if n is not None]

    def log_ratios(
        self,
        payloads: Sequence[DirectionPayload],
        sides: Sequence[MinibatchView],
        key: CheckinKey,
    ) -> dict[str, tuple[Loss, Array]]:
        likely = [[self.probability(payload, side, key) for side in sides] for payload in payloads]
        scores: Array = np.log(np.maximum(likely, SMALLEST_PROBABILITY)) @ np.array([1.0, -1.0])
        return {"checkin": (Loss(epsilon=self.epsilon), scores)}

    def probability(
        self, payload: DirectionPayload, minibatch: MinibatchView, key: CheckinKey
    ) -> float:
        """Return the probability of this payload given these samples: as secret as the samples."""
        role = role_of(payload)
        choice = self.choice_of(role)
        if role is Role.TRAIN:
            scores, turned = self._scores(minibatch, key)
            orders = ((self._ranked(scores), 1 - turned), (self._ranked(-scores), turned))
            best = sum(p for order, p in orders if payload.direction in order[: self.closest])
        else:
            best = float(
                np.mean(self._true_numbers(minibatch, role) == getattr(payload, FIELDS[role]))
            )
        return choice.unlikely + best * (choice.likely - choice.unlikely)


def _about(role: Role, k: int) -> tuple[Phrase, Phrase]:
    """Return the title of an example of this role, and a sentence on its number."""
    if role is Role.TRAIN:
        return Phrase("From a check-in that trains"), Phrase("A direction, one of {of}:", of=k)
    if role is Role.COUNT:
        return Phrase("From a check-in that counts"), Phrase("An answer, one of {of}:", of=k)
    return Phrase("From a check-in that evaluates"), Phrase("Right (0) or wrong (1):")
