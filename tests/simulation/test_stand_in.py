"""Test that a simulated direction has the law of a real one: one of k ranked codewords."""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import beta

from crowdml.models import Huber, Minibatch
from crowdml.privacy import ALL_TRAIN, CheckinKey, Choice, DirectionMechanism
from crowdml.privacy.direction.stand_in import draw_pulls
from crowdml.simulation import Dataset, Learning
from crowdml.simulation.fold import fold_slowly, learn
from crowdml.simulation.learning_setup import make_model, make_stand_in
from crowdml.simulation.schedule.undelayed import one_by_one
from crowdml.types import Array, Ints

RARE = 1e-9
"""The largest probability that a test fails at random, unless the test says otherwise."""

EPSILON, SIZE, N = 2.0, 60, 4000
S = 0.3
U = np.random.default_rng(1).normal(size=SIZE)
U /= np.linalg.norm(U)
LENGTHS = [0.1, 1.0]
"""Lengths of the gradient: a third of S, so that it is often turned round, and far above S."""


@dataclass
class Seeded:
    """Draw the device's randomness from a generator."""

    rng: np.random.Generator

    def below(self, n: int) -> int:
        return (
            int(self.rng.integers(n, dtype=np.uint64))
            if n < 2**64
            else int(self.rng.integers(2**64 - 1, dtype=np.uint64, endpoint=True))
        )

    def random_id(self) -> str:
        raise NotImplementedError

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        raise NotImplementedError

    add_gaussian = add_laplace


def mechanism_of(learning: Learning) -> DirectionMechanism:
    stand_in = make_stand_in(learning, make_model(learning, SIZE, 0), batch=1)
    assert isinstance(stand_in.mechanism, DirectionMechanism)
    return stand_in.mechanism


def steady(length: float) -> Dataset:
    """Make samples with gradient −u·length for any w: far from the target, Huber's slope is −δ."""
    x, y = np.tile(U, (N, 1)), np.full(N, 1e6)
    return Dataset("steady", (), x, y, np.zeros(N, np.int64), x[:1], y[:1])


def learning_of(length: float) -> Learning:
    return Learning(
        epsilon=EPSILON, c=1.0, rate="constant", model="huber", delta=length, scale=1.0,
        tolerance=1.0,
    )  # fmt: skip


@functools.cache
def simulated(length: float, fast: bool) -> Array:
    """Return −ĝ of N check-ins, as the fold steps by them."""
    schedule = one_by_one(N, 1)._replace(checkins=1)
    fold = learn if fast else fold_slowly
    stops = np.arange(N + 1)
    w, _ = fold(steady(length), schedule, learning_of(length), stops, np.random.default_rng(5))
    return np.diff(w, axis=0)


@functools.cache
def real(length: float) -> Array:
    """Return −ĝ of N check-ins of devices with codebooks, as the server reads them."""
    mechanism = replace(mechanism_of(learning_of(length)), roles=ALL_TRAIN)
    minibatch = Minibatch(Huber(SIZE, delta=length), np.zeros(SIZE), U[None], np.array([1e6]))
    chance, found = Seeded(np.random.default_rng(6)), []
    for number in range(N):
        place = CheckinKey("0" * 64, f"device-{number}", 1)
        payload = mechanism.make_payload(minibatch, mechanism.event(1, place), place, chance)
        found.append(mechanism.read(payload, place).g)
    return -np.array(found)


def pull_law(choice: Choice, z: Array) -> Array:
    """Return P(Z ≤ z): a rank is chosen, and Φ(Z) of rank r is Beta(k + 1 − r, r)."""
    ranks = np.arange(1, choice.k + 1)
    best = ranks <= choice.t
    probabilities = np.where(best, choice.p / choice.t, (1 - choice.p) / (choice.k - choice.t))
    law: Array = beta.cdf(ndtr(z)[:, None], choice.k + 1 - ranks, ranks) @ probabilities
    return law


def gap(p: Array) -> float:
    """Return the largest gap between the distribution function of p and the uniform one."""
    p, n = np.sort(p), len(p)
    return float(max((np.arange(1, n + 1) / n - p).max(), (p - np.arange(n) / n).max()))


def allowed(n: int) -> float:
    """Return the gap that n draws may have, by Dvoretzky, Kiefer and Wolfowitz."""
    return math.sqrt(math.log(2 / RARE) / (2 * n))


def test_pulls_have_the_law_of_the_chosen_rank() -> None:
    for k, t, epsilon in ((16, 3, 1.0), (1024, 67, 4.0), (1024, 1, 10.0)):
        choice = Choice(k, t, epsilon)
        z = draw_pulls(choice, 1500, np.random.default_rng(2))
        assert gap(pull_law(choice, z)) < allowed(1500)
        assert gap(pull_law(choice, z + 0.3)) > allowed(1500), "the test can fail"


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("length", LENGTHS)
def test_along_the_gradient_it_is_a_pull_that_may_be_turned(length: float, fast: bool) -> None:
    choice = mechanism_of(learning_of(length)).choice
    z = simulated(length, fast)[:1000] @ U * choice.pull / S
    turned = (1 - min(1.0, length / S)) / 2
    law = (1 - turned) * pull_law(choice, z) + turned * (1 - pull_law(choice, -z))
    assert gap(law) < allowed(1000)
    unturned = gap(pull_law(choice, z))
    assert (unturned > allowed(1000)) == (turned > 0), "the test can fail"


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("length", LENGTHS)
def test_across_the_gradient_it_is_standard_normal(length: float, fast: bool) -> None:
    """Check every direction of a basis, all together and one by one; no two are correlated.

    Products of two independent normal numbers have a fourth moment of 9: the mean of N of them is
    within 7 standard errors, except with a probability below 1e-9.
    """
    choice = mechanism_of(learning_of(length)).choice
    basis = np.linalg.qr(np.column_stack([U, np.eye(SIZE)[:, 1:]]))[0][:, 1:]
    v = simulated(length, fast) @ basis * choice.pull / S
    assert gap(ndtr(v.ravel())) < allowed(v.size)
    for k in (0, 1, 15, 16, 40):
        assert gap(ndtr(v[:, k])) < allowed(N)
        assert abs((v[:, k] * v[:, k + 16 if k < 40 else 0]).mean()) < 7 / math.sqrt(N)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_real_direction_has_the_same_law(length: float, fast: bool) -> None:
    """Compare the mean, the second moment and the distribution along the gradient.

    A real codeword is made of small whole numbers, whose sums are close to normal: that changes
    less than the bounds here, which two samples of the same law exceed with a probability below
    1e-9.
    """
    ours, theirs = simulated(length, fast), real(length)
    # E ĝ = u·length inside the ball of S, and S·u/‖u‖ beyond it.
    spread = theirs.std(axis=0).max() / math.sqrt(N)
    for found in (ours, theirs):
        assert np.abs(found.mean(axis=0) - U * min(length, S)).max() < 6.5 * spread
    squares = [np.square(found).sum(axis=1) for found in (ours, theirs)]
    error = math.hypot(*(square.std() / math.sqrt(N) for square in squares))
    assert abs(squares[0].mean() - squares[1].mean()) < 6.5 * error
    energy = mechanism_of(learning_of(length)).noise_energy
    assert squares[0].mean() == pytest.approx(energy, abs=6.5 * error + 0.05 * energy)
    both = np.concatenate([ours @ U, theirs @ U])
    place = np.argsort(np.argsort(both))
    steps = np.sort(place[:N]) + 1.0
    largest = np.abs(np.arange(1, N + 1) / N - (steps - np.arange(1, N + 1)) / N).max()
    assert largest < math.sqrt(math.log(2 / RARE) / N)
