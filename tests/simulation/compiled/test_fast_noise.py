"""Test the laws of simulated noise, drawn through the fold itself.

With x = 0 and a constant rate, every step is minus the noise alone. False-positive rates are
bounds that hold for every N (Dvoretzky–Kiefer–Wolfowitz, Hoeffding, Chernoff), and add up to less
than 5e-8 over this file.
"""

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from crowdml.simulation import Crowd, Learning
from crowdml.simulation.fold import learn
from crowdml.simulation.learning_setup import LearningSetup
from crowdml.simulation.trial import schedule_of_crowd
from crowdml.types import Array
from tests.simulation.toy import numbers

STEPS, SIZE = 6000, 200
RARE = 1e-9
both = pytest.mark.parametrize("law", ["laplace", "gaussian"])


@functools.cache
def draws(law: str, seed: int = 0, steps: int = STEPS) -> Array:
    """Draw steps × SIZE numbers of scale 1."""
    data = replace(numbers(steps, SIZE), x_train=np.zeros((steps, SIZE)))
    learning = Learning(
        mechanism=law, epsilon=1.0, c=1.0, rate="constant", model="huber", delta=0.5, clip=0.5
    )
    schedule = schedule_of_crowd(data, Crowd(devices=1), np.random.default_rng(0))
    w, _ = learn(data, schedule, learning, np.arange(steps + 1), np.random.default_rng(seed))
    return np.diff(w, axis=0) / LearningSetup.of(learning, data, schedule).stand_in.scale(1)


def probability(law: str, z: Array) -> Array:
    """Return the distribution function of the law at z."""
    if law == "gaussian":
        p: Array = ndtr(z)
        return p
    return np.where(z < 0, np.exp(-np.abs(z)) / 2, 1 - np.exp(-np.abs(z)) / 2)


def largest_gap(law: str, z: Array) -> float:
    """Return the largest gap between the empirical distribution function and the law's."""
    p, n = np.sort(probability(law, z)), len(z)
    above, below = np.arange(1, n + 1) / n - p, p - np.arange(n) / n
    return float(max(above.max(), below.max()))


def allowed_gap(n: int) -> float:
    return math.sqrt(math.log(2 / RARE) / (2 * n))


@both
def test_law_is_the_mechanisms(law: str) -> None:
    z = draws(law).ravel()
    assert largest_gap(law, z) < allowed_gap(len(z))


@both
def test_a_law_slightly_off_would_be_caught(law: str) -> None:
    z = draws(law).ravel()
    assert largest_gap(law, 1.02 * z) > allowed_gap(len(z))
    assert largest_gap(law, z + 0.01) > allowed_gap(len(z))
    other = "gaussian" if law == "laplace" else "laplace"
    assert largest_gap(other, z) > 0.02


@both
@pytest.mark.parametrize("coordinate", [0, SIZE // 2, SIZE - 1])
def test_law_of_each_coordinate_is_the_mechanisms(law: str, coordinate: int) -> None:
    assert largest_gap(law, draws(law)[:, coordinate]) < allowed_gap(STEPS)


@pytest.mark.parametrize(
    ("law", "beyond"), [("laplace", 3.0), ("laplace", 6.0), ("laplace", 9.0), ("gaussian", 2.5),
                        ("gaussian", 3.5), ("gaussian", 4.5)]
)  # fmt: skip
def test_tails_are_the_mechanisms(law: str, beyond: float) -> None:
    """Compare the number of draws in the tails with its mean.

    Chernoff: a binomial count of mean m leaves m ± x with P ≤ 2·exp(−x²/(2m + 2x/3)).
    """
    z = np.abs(draws(law)).ravel()
    mean = len(z) * (math.exp(-beyond) if law == "laplace" else 2 * ndtr(-beyond))
    slack = math.log(2 / RARE)
    x = slack / 3 + math.sqrt((slack / 3) ** 2 + 2 * mean * slack)
    assert abs((z > beyond).sum() - mean) < x


def test_logarithm_is_continuous_through_the_whole_range() -> None:
    """Check that every octave of u has its share: the polynomial and the exponent fit together."""
    z, slack = np.abs(draws("laplace")).ravel(), math.log(2 / RARE * 8)
    for octave in range(8):
        inside = (z >= octave * math.log(2)) & (z < (octave + 1) * math.log(2))
        mean = len(z) * 2.0 ** -(octave + 1)
        x = slack / 3 + math.sqrt((slack / 3) ** 2 + 2 * mean * slack)
        assert abs(inside.sum() - mean) < x


def pairs(z: Array, steps: int, coordinates: int) -> tuple[Array, Array]:
    """Return disjoint pairs of draws, `steps` apart in time or `coordinates` apart in space."""
    if steps:
        blocks = z[: len(z) // (2 * steps) * 2 * steps].reshape(-1, 2, steps, SIZE)
        return blocks[:, 0].ravel(), blocks[:, 1].ravel()
    width = SIZE // (2 * coordinates) * 2 * coordinates
    columns = z[:, :width].reshape(len(z), -1, 2, coordinates)
    return columns[:, :, 0].ravel(), columns[:, :, 1].ravel()


@pytest.mark.parametrize(
    ("steps", "coordinates"), [(1, 0), (2, 0), (7, 0), (0, 1), (0, 2), (0, 8), (0, 16), (0, 64)]
)
@pytest.mark.parametrize("of", ["value", "magnitude"])
@both
def test_draws_are_independent(law: str, steps: int, coordinates: int, of: str) -> None:
    """Check by Hoeffding that products of centred uniforms, which lie in ±1/4, have mean 0.

    Normal numbers are drawn in pairs, 16 apart.
    """
    z = draws(law)
    u = probability(law, z if of == "value" else np.abs(z)) - 0.5
    u = u if of == "value" else 2 * u - 0.5
    first, second = pairs(u, steps, coordinates)
    limit = 0.5 * math.sqrt(math.log(2 / RARE) / (2 * len(first)))
    assert abs((first * second).mean()) < limit


def test_seeds_decide() -> None:
    np.testing.assert_array_equal(draws("laplace", 3, 20), draws.__wrapped__("laplace", 3, 20))
    assert (draws("laplace", 3, 20) == draws("laplace", 4, 20)).mean() < 0.01
