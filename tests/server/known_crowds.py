"""Make crowds whose true error is known, and the check-ins that their devices send."""

import math

import msgspec
import numpy as np

from crowdml.privacy import CheckinKey, DirectionMechanism, NoiseMechanism, Role
from crowdml.protocol import Task
from crowdml.server.database.store import DeviceRow
from crowdml.server.log.decision import Arrival
from tests.server.learners import message, noisy
from tests.support.checkins import DirectionCheckin


def people(task: Task, n: int) -> list[DeviceRow]:
    return [DeviceRow(1, i, f"{task.name}-{i}", "active") for i in range(n)]


def miscounting(
    task: Task, n: int, error: float, rng: np.random.Generator, samples: int = 20
) -> list[Arrival]:
    """Make error counts with the noise that the terms prescribe.

    The generator is seeded, so the tests that use it cannot fail at random.
    """
    mechanism = task.terms.mechanism()
    assert isinstance(mechanism, NoiseMechanism)
    p = -math.expm1(-mechanism.levels.errors)
    noise = rng.geometric(p, n) - rng.geometric(p, n)
    counts = rng.binomial(samples, error, n) + noise
    body = noisy(task, samples=samples)
    return [
        Arrival(device, msgspec.structs.replace(body, id=f"checkin-{i:016d}", errors=int(count)))
        for i, (device, count) in enumerate(zip(people(task, n), counts, strict=True))
    ]


def responding(
    task: Task,
    n: int,
    error: float,
    rng: np.random.Generator,
    shares: tuple[float, ...] = (1 / 3, 1 / 3, 1 / 3),
) -> list[Arrival]:
    """Make the first check-ins of n people, in their roles, by randomised response.

    Randomised response is written here from its definition: the truth with probability e^ε/(e^ε + k
    − 1), each of the k − 1 other numbers with an equal share of the rest.
    """
    mechanism = task.terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism)

    def respond(truth: int, k: int) -> int:
        honest = math.exp(mechanism.epsilon) / (math.exp(mechanism.epsilon) + k - 1)
        shift = 0 if rng.random() < honest else int(rng.integers(1, k))
        return (truth + shift) % k

    made = []
    for i, device in enumerate(people(task, n)):
        checkin = message(task, device.name, 1, seed=i)
        assert isinstance(checkin, DirectionCheckin)
        role = mechanism.roles.role_of(CheckinKey(checkin.terms, device.name, 1))
        if role is Role.EVALUATE:
            wrong = respond(int(rng.random() < error), 2)
            checkin = msgspec.structs.replace(checkin, wrong=wrong)
        elif role is Role.COUNT:
            answer = respond(int(rng.choice(len(shares), p=shares)), task.terms.n_classes)
            checkin = msgspec.structs.replace(checkin, answer=answer)
        made.append(Arrival(device, checkin))
    return made
