"""Compare the compiled fold with the server's own step, with the same randomness for both.

The comparison covers every mechanism, optimizer and rate, with and without averaging, projection
and the limit on the length of gradients.
"""

import itertools
from typing import Any

import numpy as np
import pytest

from crowdml.learning import usual_length
from crowdml.protocol import MECHANISMS
from crowdml.simulation import Crowd, Dataset, Learning, fold, uniform_delay
from crowdml.simulation.compiled.codewords import FIRST_FACTOR, GOLDEN, SECOND_FACTOR, WORD_BYTES
from crowdml.simulation.compiled.fast_noise import (
    add_laplace,
    add_normal,
    fill_normal,
    seed_streams,
)
from crowdml.simulation.compiled.kernel import STRIDE
from crowdml.simulation.compiled.lanes import LANES
from crowdml.simulation.fold import fold_slowly, learn
from crowdml.simulation.trial import schedule_of_crowd
from crowdml.types import Array
from tests.simulation.toy import numbers

STEPS = [
    ("sgd", "sqrt"),
    ("sgd", "constant"),
    ("sgd", "inverse"),
    ("adagrad", "sqrt"),
    ("dual-averaging", "sqrt"),
]
NOISY = [name for name in MECHANISMS if name != "direction"]
SIZE = 2
"""The number of parameters: few, so that noise varies in length and reaches the limit."""


class KernelChance:
    """Draw the noise that the compiled fold draws from a generator with this seed."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._streams = seed_streams(self._rng)
        self._codebooks, (high, low) = 0, self._streams[:2, 0].astype(np.uint64)
        self._base = high << np.uint64(32) | low

    def integers(self, most: int, size: tuple[int, int], dtype: Any) -> Any:
        """Return the bytes of a codebook: k rows of whole words, of which d bytes are used."""
        assert (most, dtype) == (256, np.uint8)
        k, d = size
        row = -(-d // WORD_BYTES)
        with np.errstate(over="ignore"):
            seed = self._base + np.uint64(self._codebooks) * STRIDE
            x = seed + np.arange(1, k * row + 1, dtype=np.uint64) * GOLDEN
            x = (x ^ (x >> np.uint64(30))) * FIRST_FACTOR
            x = (x ^ (x >> np.uint64(27))) * SECOND_FACTOR
        self._codebooks += 1
        return (x ^ (x >> np.uint64(31))).view(np.uint8).reshape(k, -1)[:, :d]

    def laplace(self, mean: float, scale: float, size: int) -> Array:
        return self._drawn(size, lambda out: add_laplace(out, size, scale, self._streams))

    def normal(self, mean: float, scale: float, size: int) -> Array:
        return self._drawn(size, lambda out: add_normal(out, size, scale, self._streams))

    def standard_normal(self, size: int) -> Array:
        return self._drawn(size, lambda out: fill_normal(out, out.copy(), size, self._streams))

    def _drawn(self, size: int, draw: Any) -> Array:
        out = np.zeros(-(-size // LANES) * LANES, np.float32)
        draw(out)
        return out[:size].astype(np.float64)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rng, name)


def some_data(outliers: bool = False) -> Dataset:
    data = numbers(1500, n_features=SIZE)
    if outliers:
        rare = np.arange(len(data.y_train)) % 37 == 0
        data.y_train[rare] *= np.linspace(3.0, 30.0, rare.sum())
    return data


def both(data: Dataset, learning: Learning, seed: int = 5) -> tuple[Array, Array]:
    """Return the parameters after some check-ins, by the compiled fold and by the server's step."""
    crowd = Crowd(devices=20, batch=3, delay=uniform_delay(20))
    schedule = schedule_of_crowd(data, crowd, np.random.default_rng(1))
    assert schedule.n_checkins > usual_length.REMEMBERED_LENGTHS + 50
    stops = np.linspace(5, schedule.n_checkins, 6).astype(np.int64)
    fast, _ = learn(data, schedule, learning, stops, np.random.default_rng(seed))
    chance: Any = KernelChance(seed)
    slow, _ = fold_slowly(data, schedule, learning, stops, chance)
    return fast, slow


def close(fast: Array, slow: Array) -> bool:
    """Compare up to the rounding of single precision."""
    return bool(np.abs(fast - slow).max() < 3e-4 * np.abs(slow).max())


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize(("optimizer", "rate"), STEPS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_compiled_fold_follows_the_servers_step(
    mechanism: str, optimizer: str, rate: str, noisy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mechanism in NOISY and noisy:  # so that the first limit has an effect, too
        monkeypatch.setattr(fold, "length_limit", lambda *_: 0.3)
    data = some_data(outliers=not noisy)
    for averaging, radius in itertools.product((None, 3.0), (1e6, 0.2)):
        found = []
        for limits_length in (True, False):
            learning = Learning(
                mechanism=mechanism,
                epsilon=4.0 if noisy else np.inf,
                c=0.3,
                optimizer=optimizer,
                rate=rate,
                averaging=averaging,
                radius=radius,
                model="ridge",
                clip=1.0 if mechanism in NOISY and noisy else None,
                limits_length=limits_length,
            )
            fast, slow = both(data, learning)
            assert close(fast, slow), (averaging, radius, limits_length)
            assert np.linalg.norm(fast, axis=1).max() <= radius * (1 + 1e-5)
            found.append(fast)
        if mechanism in NOISY:
            assert not close(*found), "no gradient was shortened: the test is blind"
        else:
            assert (found[0] == found[1]).all(), "a direction is as long as any other"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REMEMBERED_LENGTHS", 150),
        ("FEWEST_LENGTHS", 20),
        ("USUAL_QUANTILE", 0.8),
        ("LIMIT_FACTOR", 1.6),
    ],
)
def test_the_comparison_notices_another_limit(
    name: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that a changed constant is found: the compiled fold keeps its compiled constants."""
    data = some_data(outliers=True)
    learning = Learning(mechanism="laplace", c=0.3, rate="constant", model="ridge")
    assert close(*both(data, learning))
    monkeypatch.setattr(usual_length, name, value)
    assert not close(*both(data, learning))
