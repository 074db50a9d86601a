"""Test the probability of a sent number, which is known exactly from the law of a check-in."""

import math

import numpy as np
import pytest

from crowdml.models import Minibatch, Softmax
from crowdml.privacy import (
    CheckinKey,
    Choice,
    DirectionMechanism,
    DirectionPayload,
    Loss,
    Role,
    Roles,
    best_closest,
)
from crowdml.privacy.direction.channel import FIELDS
from crowdml.privacy.shown.payload import WatchedMinibatch
from crowdml.types import Array

SIZE, CLASSES = 6, 3


def minibatch(gain: float) -> Minibatch:
    """Make four samples whose gradient is scaled by `gain`."""
    x: Array = gain * np.array([[0.6, 0.1], [0.5, 0.3], [0.2, 0.7], [0.4, 0.4]])
    return Minibatch(Softmax(2, CLASSES), np.zeros(SIZE), x, np.array([0.0, 0.0, 0.0, 2.0]))


HOW = DirectionMechanism(
    2.0, 8, 3, size=SIZE, batch=4, n_classes=CLASSES, roles=Roles(evaluators=0.3, counters=0.3)
)


def place_of(role: Role) -> CheckinKey:
    places = (CheckinKey("5e", f"ana-{i}", 1) for i in range(100))
    return next(place for place in places if HOW.roles.role_of(place) is role)


@pytest.mark.parametrize("role", Role)
def test_two_probabilities_bound_it(role: Role) -> None:
    """Check for all kinds of samples that the probabilities are at most e^ε apart."""
    place, key, choice = place_of(role), FIELDS[role], HOW.choice_of(role)
    assert choice.likely <= choice.unlikely * math.exp(HOW.epsilon)
    assert choice.likely * choice.t + choice.unlikely * (choice.k - choice.t) == pytest.approx(1)
    for gain in (1e-9, 0.01, 0.1, 1.0):
        for j in range(choice.k):
            p = HOW.probability(DirectionPayload(1, **{key: j}), minibatch(gain), place)
            assert choice.unlikely <= p <= choice.likely


def test_the_dial_of_another_epsilon() -> None:
    assert HOW.closest != best_closest(8, 2.0)
    assert HOW.picture(2.0, 4).choice == HOW.choice
    assert HOW.picture(1.0, 4).choice == Choice(8, best_closest(8, 1.0), 1.0)


@pytest.mark.parametrize(
    ("role", "number", "says", "title"),
    [
        (Role.TRAIN, 5, "", "From a check-in that trains"),
        (Role.EVALUATE, 0, "right", "From a check-in that evaluates"),
        (Role.EVALUATE, 1, "wrong", "From a check-in that evaluates"),
        (Role.COUNT, 2, "c", "From a check-in that counts"),
    ],
)
def test_an_example(role: Role, number: int, says: str, title: str) -> None:
    place, payload, choice = (
        place_of(role),
        DirectionPayload(1, **{FIELDS[role]: number}),
        HOW.choice_of(role),
    )
    shown = HOW.show(payload, WatchedMinibatch(minibatch(1.0)), place, ["a", "b", "c"])
    chosen = shown.chosen
    assert chosen is not None
    assert (shown.rows, shown.more) == ((), 0)
    assert (str(chosen.title), chosen.number, str(chosen.says)) == (title, number, says)
    assert (chosen.likely, chosen.unlikely) == (choice.likely, choice.unlikely)
    assert chosen.these == HOW.probability(payload, minibatch(1.0), place)


@pytest.mark.parametrize("role", Role)
def test_odds_are_a_ratio_of_probabilities(role: Role) -> None:
    place, sides = place_of(role), [minibatch(1.0), minibatch(0.05)]
    payloads = [DirectionPayload(1, **{FIELDS[role]: j}) for j in range(HOW.choice_of(role).k)]
    loss, scores = HOW.log_ratios(payloads, sides, place)["checkin"]
    assert loss == Loss(epsilon=2.0)
    for payload, score in zip(payloads, scores, strict=True):
        one, two = (HOW.probability(payload, side, place) for side in sides)
        assert score == pytest.approx(math.log(one / two))
