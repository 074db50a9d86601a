"""Pairs of data sets that are as hard to hide as any, and what check-ins of them tell."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from crowdml.models import Huber, Minibatch, Model, Softmax
from crowdml.privacy import (
    Chance,
    DirectionMechanism,
    Law,
    Levels,
    Mechanism,
    NoiseMechanism,
    Place,
)
from crowdml.types import Ints

__all__ = ["Pair", "Step", "opposites", "replaced"]

M = TypeVar("M", bound=Mechanism)
Step = Callable[[int], None]
"""Called with the number of check-ins that were drawn since the last call."""


@dataclass(frozen=True)
class Pair(Generic[M]):
    """Two minibatches that nobody must be able to tell apart by what is told."""

    mechanism: M
    place: Place
    sides: tuple[Minibatch, Minibatch]

    def draw(
        self,
        trials: int,
        chance: Chance,
        observe: Callable[[Any], list[int]],
        step: Step = lambda drawn: None,
    ) -> tuple[Ints, Ints]:
        """What is observed of so many check-ins, half of them of either side."""
        mechanism, place = self.mechanism, self.place
        events = [mechanism.event(side.n_samples, place) for side in self.sides]
        found: tuple[list[list[int]], list[list[int]]] = [], []
        for _ in range(trials // 2):
            for side, event, rows in zip(self.sides, events, found, strict=True):
                rows.append(observe(mechanism.tell(side, event, place, chance)))
            step(2)
        return np.array(found[0]), np.array(found[1])


def opposites(mechanism: DirectionMechanism, evaluates: bool) -> Pair[DirectionMechanism]:
    """A check-in of this role with one sample: of the label that is predicted, or of the other.

    The gradients are opposite, or the reports differ: no two check-ins are more different.
    """
    places = (Place("00" * 32, f"device-{i}", 1) for i in range(10**6))
    place = next(place for place in places if mechanism.evaluates(place) == evaluates)
    model, x = Softmax(1, 2), np.ones((1, 1))
    right, wrong = (Minibatch(model, np.zeros(2), x, np.array([y])) for y in (0.0, 1.0))
    return Pair(mechanism, place, (right, wrong))


def replaced(law: Law, level: float, delta: float) -> Iterator[Pair[NoiseMechanism]]:
    """Three samples of which one is replaced, with the w that a malicious server would send.

    A real target that jumps from far below to far above turns a gradient from −S to +S. A label
    that turns from right to wrong moves the error count by one and two label counts by one each.
    Of the level the gradient has 60 %, each count 20 %.
    """
    zero, one, place = np.zeros(3), np.array([0.0, 0.0, 1.0]), Place("00" * 32, "device", 1)
    jump: tuple[Model, tuple[float, ...]] = Huber(1), (0.0,)
    turn: tuple[Model, tuple[float, ...]] = Softmax(1, 2), (40.0, -40.0)
    for (model, w), targets in ((jump, (-1e6 * one, 1e6 * one)), (turn, (zero, one))):
        levels = Levels(0.6 * level, 0.2 * level, 0.2 * level if model.n_classes else 0.0)
        clip = model.bound(law.norm)
        mechanism = NoiseMechanism(law, levels, clip, model.size, model.n_classes, delta=delta)
        x = np.ones((3, 1))
        this, other = (Minibatch(model, np.array(w), x, y) for y in targets)
        yield Pair(mechanism, place, (this, other))
