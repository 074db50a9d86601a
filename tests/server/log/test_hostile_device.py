"""Test that one malicious device is bounded: it may send any number, but K times at most."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.errors import Rejected
from crowdml.privacy import CheckinKey, DirectionMechanism, DirectionPayload
from crowdml.privacy.choice import Choice
from crowdml.privacy.direction.codebook import Codebook
from crowdml.protocol import Task, terms_hash
from crowdml.server import Store
from crowdml.server.database.log_entry import LogEntry
from crowdml.server.log.decision import Arrival
from crowdml.server.log.fold import Fold
from crowdml.types import Array
from tests.server.learners import message, new_learner
from tests.support.servers import make_direction_task

LONGEST = 8**0.5
"""The largest length of a codeword, as a multiple of the root of the mean square.

A number of a codeword lies in −4 … 4 and has a variance of 2.
"""

WORST = 5.5
"""A bound that one of 1024 standard normals exceeds with a probability of 2e-5."""

FACTORS = [(1.0, 8.18), (4.0, 2.15), (10.0, 1.05)]
"""ε of a check-in, and how hard an attacker pushes on average, in honest pushes: the mean of the
largest of 1024 standard normals, 3.25, over m."""


def task_of(epsilon: float, **changes: Any) -> Task:
    settings: dict[str, Any] = {
        "privacy__epsilon": epsilon,
        "collection__checkins": 1,
        "features__count": 40,
    }
    return make_direction_task(
        **(settings | {"collection__evaluators": 0.0, "collection__counters": 0.0} | changes)
    )


def mechanism_of(task: Task) -> DirectionMechanism:
    mechanism = task.terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism)
    return mechanism


def pull(mechanism: DirectionMechanism) -> float:
    """Return m."""
    return Choice(mechanism.directions, mechanism.closest, mechanism.epsilon).pull


def codebook_at(task: Task, place: CheckinKey) -> Codebook:
    return Codebook(mechanism_of(task).size, place)


def step(task: Task, place: CheckinKey, direction: int) -> Array:
    """Return how w moves if the log holds only this check-in, in units of the rate."""
    payload = msgspec.msgpack.encode(DirectionPayload(place.number, direction))
    fold = Fold(task, place.terms_sha256)
    fold.apply(LogEntry(1, 1, 0, "id", 0, 0, place.number, None, payload, place.device))
    assert task.optimizer.c is not None
    return -fold.w / task.optimizer.c


def places(task: Task, n: int) -> list[CheckinKey]:
    return [CheckinKey(terms_hash(task.terms.text), f"device-{i}", 1) for i in range(n)]


@pytest.mark.parametrize(("epsilon", "factor"), FACTORS)
def test_an_attacker_pushes_no_harder_than_stated(epsilon: float, factor: float) -> None:
    """Compare 400 devices that send the worst of their 1024 directions with an honest device.

    On average an honest device moves the model by S along its own gradient: the mechanism is
    unbiased.

    The mean of 400 maxima has a standard deviation of 0.5 % of itself; 4 % is eight of them, so a
    failure has a probability below 1e-14.
    """
    task = task_of(epsilon)
    mechanism = mechanism_of(task)
    aim = np.random.default_rng(0).normal(size=mechanism.size)
    aim /= np.linalg.norm(aim)
    pushes = []
    for place in places(task, 400):
        worst = int(codebook_at(task, place).scores(aim, mechanism.directions).argmax())
        pushes.append(float(step(task, place, worst) @ aim))
    assert mechanism.choice.leverage == pytest.approx(factor, rel=0.01)
    assert np.mean(pushes) / mechanism.length == pytest.approx(factor, rel=0.04)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 10.0])
def test_no_number_makes_a_longer_step_than_others(epsilon: float) -> None:
    """Check all 1024 numbers of a device: none makes an extreme step, and most are alike."""
    task = task_of(epsilon)
    mechanism = mechanism_of(task)
    (place,) = places(task, 1)
    lengths = np.array(
        [
            np.linalg.norm(step(task, place, j)) for j in range(0, mechanism.directions, 8)
        ]
    )  # fmt: skip
    typical = np.sqrt(mechanism.noise_energy)
    assert lengths.max() <= LONGEST * typical
    assert lengths.mean() == pytest.approx(typical, rel=0.05)
    extreme = mechanism.length * 4 * np.sqrt(mechanism.size / 2) / pull(mechanism)
    assert extreme <= LONGEST * typical * (1 + 1e-12)


def test_whatever_is_sent_an_honest_device_might_have_sent() -> None:
    """Check that for each number there are data for which it is among the closest."""
    task = task_of(4.0)
    mechanism = mechanism_of(task)
    (place,) = places(task, 1)
    book = codebook_at(task, place)
    for j in range(mechanism.directions):
        scores = book.scores(book.codeword(j).astype(np.float64), mechanism.directions)
        assert j in np.argsort(-scores)[: mechanism.closest]


def test_a_device_pushes_k_times_and_not_once_more(store: Store) -> None:
    """Check the most that one device can do to w: K worst directions, each once, none beyond K.

    The probability that one of 10 times 1024 directions passes 5.5 standard deviations is 2e-4 a
    device; names are fixed here, so the test passes always or never.
    """
    task = task_of(40.0, collection__checkins=10, optimizer__rate="constant")
    mechanism = mechanism_of(task)
    learner = new_learner(store, task, n=1)
    (device,) = store.devices(learner.id)
    aim = np.ones(mechanism.size) / np.sqrt(mechanism.size)
    sent: list[object] = []
    for number in [*range(1, 11), *range(1, 11)]:
        place = CheckinKey(learner.terms_sha256, device.name, number)
        worst = int(codebook_at(task, place).scores(aim, mechanism.directions).argmax())
        lie = msgspec.structs.replace(  # type: ignore[type-var]
            message(task, device.name, number, 0), id=f"lie-{len(sent):016}", direction=worst
        )
        sent += learner.ingest([Arrival(device, lie)])
    assert [isinstance(answer, Rejected) for answer in sent] == [False] * 10 + [True] * 10
    assert task.optimizer.c is not None
    push = -float(learner.committed_fold().w @ aim) / task.optimizer.c
    honest = 10 * mechanism.length
    assert honest < push <= WORST / pull(mechanism) * honest


@pytest.mark.parametrize("labels", [["no", "yes"], list("abcdefghij"), None])
def test_an_evaluation_moves_the_error_by_one_prediction(labels: list[str] | None) -> None:
    """Check that right and wrong differ by one error, magnified as honest ones are, for any C."""
    kind = "softmax" if labels else "ridge"
    mechanism = mechanism_of(task_of(4.0, target__labels=labels, model__kind=kind))
    place = CheckinKey("0" * 64, "ana", 1)
    right, wrong = (mechanism.read(DirectionPayload(1, wrong=n), place).errors for n in (0, 1))
    honest = math.exp(4.0) / (math.exp(4.0) + 1)
    assert wrong - right == pytest.approx(1 / (2 * honest - 1))


@pytest.mark.parametrize("n", [2, 10])
def test_an_answer_moves_the_labels_by_one_sample(n: int) -> None:
    """Check the move from one label to another, magnified as for honest answers.

    The error is not affected.
    """
    mechanism = mechanism_of(task_of(4.0, target__labels=list("abcdefghij")[:n]))
    place = CheckinKey("0" * 64, "ana", 1)
    honest = math.exp(4.0) / (math.exp(4.0) + n - 1)
    others = (1 - honest) / (n - 1)
    readings = [mechanism.read(DirectionPayload(1, answer=k), place) for k in range(n)]
    for k, reading in enumerate(readings):
        expected = np.where(np.arange(n) == k, 1 - others, -others) / (honest - others)
        assert reading.labels == pytest.approx(expected)
        assert sum(reading.labels) == pytest.approx(1.0)
        assert (reading.evaluated, reading.errors, reading.g) == (0, 0.0, None)
