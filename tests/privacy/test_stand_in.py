"""Test what simulations draw in place of a mechanism, with given randomness."""

import math
from typing import Any, cast

import numpy as np
import pytest

from crowdml.privacy import LAPLACE, Choice, DirectionMechanism, Loss, NoiseLevels, NoiseMechanism
from crowdml.privacy.direction.stand_in import draw_pulls
from crowdml.privacy.stand_in import StandIn
from crowdml.types import Array, Ints

DIRECTED = DirectionMechanism(4.0, 256, 20, size=40, batch=2)
"""A mechanism with enough parameters for one codeword to stand for all."""
NOISY = NoiseMechanism(LAPLACE, NoiseLevels(0.5, 0.25, 0.125), clip=2.0, size=3, n_classes=2)


class Fixed:
    """Return given numbers, and record every request."""

    def __init__(self, uniform: list[float], beta: float = 0.1) -> None:
        self.uniform, self.fixed_beta = np.array(uniform), beta
        self.asked: list[list[int]] = []

    def standard_normal(self, n: int) -> Array:
        return np.arange(1.0, n + 1)

    def random(self, n: int) -> Array:
        return self.uniform[:n]

    def beta(self, a: Ints, b: Ints) -> Array:
        self.asked += [a.tolist(), b.tolist()]
        return np.full(len(a), self.fixed_beta)


@pytest.mark.parametrize(
    ("length", "coin", "sign"), [(0.5, 0.25, 1), (0.5, 0.2499, -1), (1.0, 0.0, 1), (3.0, 0.0, 1)]
)
def test_a_codeword_with_a_given_pull(length: float, coin: float, sign: int) -> None:
    """Check that half of S is turned round one time in four, and a longer gradient never."""
    stand_in, s = DIRECTED.stand_in(True), 0.3 / 2
    scale = s / DIRECTED.choice.pull
    g = np.array([0.0, length * s, 0.0])
    found = stand_in.hide(g, 1, np.array([1.5, coin]), cast(Any, Fixed([])))
    np.testing.assert_allclose(found, scale * np.array([1.0, sign * 1.5, 3.0]))
    nothing = stand_in.hide(np.zeros(3), 1, np.array([1.5, 0.6]), cast(Any, Fixed([])))
    np.testing.assert_allclose(nothing, scale * np.array([1.0, 2.0, 3.0]))
    assert stand_in.noise_energy == pytest.approx(40 * scale**2)


def test_ranks_are_drawn_as_the_mechanism_draws_them() -> None:
    """Check that the t best share the draws below p, the others those above; Φ(z) is 0.9."""
    choice = Choice(10, 3, 2.0)
    p, end = choice.p, 1 - 2**-53
    shares = [
        *(p * np.array([0.0, 0.3, 0.4, 0.7, end])),
        *(p + (1 - p) * np.array([0.0, 0.15, 0.7, end])),
    ]
    rng = Fixed([float(share) for share in shares])
    z = draw_pulls(choice, len(shares), cast(Any, rng))
    ranks = [1, 1, 2, 3, 3, 4, 5, 8, 10]
    assert rng.asked == [ranks, [11 - rank for rank in ranks]]
    np.testing.assert_allclose(z, 1.2815515655)
    assert DIRECTED.stand_in(True).draws(2, np.random.default_rng(0)).shape == (2, 2)


class Bytes:
    """Return the given random bytes."""

    def __init__(self, *rows: list[int]) -> None:
        self.rows = np.array(rows, dtype=np.uint8)

    def integers(self, most: int, size: tuple[int, int], dtype: Any) -> Any:
        assert (most, size, dtype) == (256, self.rows.shape, np.uint8)
        return self.rows


@pytest.mark.parametrize(
    ("rank", "coin", "number"), [(1, 0.3, 2), (3, 0.3, 0), (1, 0.2, 0), (2, 0.2, 1)]
)
def test_with_few_parameters_codewords_are_drawn_and_ranked(
    rank: int, coin: float, number: int
) -> None:
    """Check the chosen codeword and its sign.

    The ones in 0, 3 and 255 are 0, 2 and 8, less 4. A gradient of half of S is turned round one
    time in four.
    """
    mechanism = DirectionMechanism(4.0, 3, 1, size=2, batch=2)
    stand_in, g = mechanism.stand_in(True), np.array([0.5 * 0.3 / 2, 0.0])
    rng = Bytes([0, 255], [3, 0], [255, 3])
    found = stand_in.hide(g, 1, np.array([rank, coin]), cast(Any, rng))
    word = np.array([[-4, 4], [-2, -4], [4, -2]])[number]
    np.testing.assert_allclose(found, stand_in.scale(1) * word / math.sqrt(2))
    ranks = stand_in.draws(1000, np.random.default_rng(0))[:, 0]
    assert set(ranks) == {1, 2, 3}


def test_a_codeword_of_any_rank() -> None:
    rng, k = np.random.default_rng(0), 2048
    drawn, g = rng.integers(256, size=(k, 20), dtype=np.uint8), rng.normal(size=20)
    stand_in, given = DirectionMechanism(4.0, k, 20, 20, 2).stand_in(True), Bytes(*drawn.tolist())
    ranks = range(1, k, 10)
    pulls = [stand_in.hide(g, 1, np.array([r, 1.0]), cast(Any, given)) @ g for r in ranks]
    expected = np.sort((np.bitwise_count(drawn) - 4.0) @ g)[::-10] / math.sqrt(2)
    np.testing.assert_allclose(pulls, stand_in.scale(1) * expected)


def test_liars_send_the_codeword_farthest_from_the_gradient() -> None:
    """Check the last rank, and a coin that never reverses it; 25 parameters are many."""
    sizes, rng = np.array([1, 2]), Fixed([])
    few, many = (DirectionMechanism(4.0, 3, 1, size, 2).stand_in(True) for size in (24, 25))
    assert (few.ranked, many.ranked) == (3, 0)
    assert few.lies(sizes, cast(Any, rng)).tolist() == [[3, 1], [3, 1]]
    np.testing.assert_allclose(many.lies(sizes, cast(Any, rng)), [[1.2815515655, 1]] * 2)
    assert rng.asked == [[3, 3], [1, 1]]


def test_without_noise_a_direction_is_shortened_only() -> None:
    stand_in, rng = DIRECTED.stand_in(False), np.random.default_rng(0)
    draws = stand_in.draws(2, rng)
    assert draws.tolist() == [[0, 0], [0, 0]]
    for length, expected in ((0.0, 0.0), (0.1, 0.1), (0.9, 0.15), (5.0, 0.15)):
        found = stand_in.hide(np.array([0.0, length]), 1, draws[0], rng)
        np.testing.assert_allclose(found, [0, expected])
    assert (stand_in.scale(1), stand_in.noise_energy) == (0, 0)


@pytest.mark.parametrize("noisy", [True, False])
def test_noise_of_the_law(noisy: bool) -> None:
    stand_in, g = NOISY.stand_in(noisy), np.arange(3.0)
    scale = NOISY.gradient_scale(20) if noisy else 0.0
    assert stand_in.scale(20) == scale
    found = stand_in.hide(g, 20, np.zeros(1), np.random.default_rng(1))
    assert found.tolist() == (g + np.random.default_rng(1).laplace(0.0, scale, 3)).tolist()
    assert stand_in.draws(4, np.random.default_rng(1)).shape == (4, 1)
    assert (stand_in.clip, stand_in.length, stand_in.norm, stand_in.law) == (2, 2, 1, "laplace")
    assert stand_in.lengths_vary
    cost = (Loss(epsilon=0.875), Loss(epsilon=17.5)) if noisy else (Loss(epsilon=math.inf),) * 2
    assert stand_in.losses(20) == cost, "of counts as well"


def test_liars_push_noise_as_far_as_a_server_accepts() -> None:
    stand_in, rng, sizes = NOISY.stand_in(True), np.random.default_rng(0), np.array([20, 5, 20])
    most = [NOISY.largest_plausible(n) for n in sizes.tolist()]
    assert stand_in.lies(sizes, rng).tolist() == [[each] for each in most]
    found = stand_in.hide(np.array([-0.25, 0.0, 2.0]), 20, np.array([0.5]), rng)
    assert found.tolist() == [0.5, 0, -0.5]
    assert stand_in.ranked == 0


def test_a_direction_costs_the_same_however_many_samples() -> None:
    assert DIRECTED.stand_in(True).losses(20) == (Loss(epsilon=4.0), Loss(epsilon=4.0))
    assert DIRECTED.stand_in(False).losses(20) == (Loss(epsilon=math.inf),) * 2
    assert not DIRECTED.stand_in(True).lengths_vary
    assert StandIn.scale(DIRECTED.stand_in(True), 20) == 0, "unless a mechanism says otherwise"
