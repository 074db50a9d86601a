"""Check that real codewords are right on average, and that the simulator draws their law.

Run: PYTHONPATH=. python experiments/figures/codewords.py [CHECK-INS]

With 0 check-ins only the table of k is printed.
"""

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import ks_2samp

from crowdml.models import Huber, Minibatch
from crowdml.privacy import CheckinKey, Choice, DirectionMechanism, best_closest
from crowdml.privacy.direction.codebook import CODE_MEAN, CODE_VARIANCE
from crowdml.simulation import Dataset, Learning, learn
from crowdml.simulation.fold import fold_slowly
from crowdml.simulation.schedule.undelayed import one_by_one
from crowdml.types import Array
from tests.privacy.seeded_chance import SeededChance

DIRECTIONS, LENGTH = 1024, 0.3


class Shape(NamedTuple):
    """Hold a gradient: its name, and its direction of length 1."""

    name: str
    u: Array


def spread(d: int) -> Shape:
    """Spread a gradient over d different numbers."""
    u = np.random.default_rng(d).normal(size=d)
    return Shape(f"spread over {d}", u / np.linalg.norm(u))


def alone(d: int) -> Shape:
    return Shape(f"in one number of {d}", np.eye(d)[0])


def mechanism_of(epsilon: float, d: int) -> DirectionMechanism:
    return DirectionMechanism(epsilon, DIRECTIONS, best_closest(DIRECTIONS, epsilon), size=d)


def real(epsilon: float, u: Array, n: int) -> Array:
    """Return what servers read from n devices with this gradient, in units of S."""
    mechanism, d = mechanism_of(epsilon, len(u)), len(u)
    minibatch = Minibatch(Huber(d, delta=1.0), np.zeros(d), -u[None], np.array([1e6]))
    chance, found = SeededChance(d), []
    for i in range(n):
        key = CheckinKey("0" * 64, f"device-{i}", 1)
        payload = mechanism.make_payload(minibatch, mechanism.event(1, key), key, chance)
        g = mechanism.read(payload, key).g
        assert g is not None
        found.append(g)
    return np.array(found) / mechanism.length


def simulated(epsilon: float, u: Array, n: int, fast: bool = True) -> Array:
    """Return what the simulator draws for this gradient, compiled or in plain NumPy."""
    x, y = np.tile(-u, (n, 1)), np.full(n, 1e6)
    data = Dataset("steady", (), x, y, np.zeros(n, np.int64), x[:1], y[:1])
    learning = Learning(
        epsilon=epsilon, c=1.0, rate="constant", model="huber", delta=1.0, scale=1.0, tolerance=1.0
    )
    fold, schedule = (learn if fast else fold_slowly), one_by_one(n, 1)._replace(checkins=1)
    w, _ = fold(data, schedule, learning, np.arange(n + 1), np.random.default_rng(len(u)))
    return -np.diff(w, axis=0) / LENGTH


def views(g: Array, u: Array) -> Iterator[Array]:
    """Project readings on the gradient, and on directions across it.

    Codewords have few values, which floats of 32 bits round: all values are blurred a little.
    """
    blur = np.random.default_rng(len(g)).uniform(-0.1, 0.1, (2, len(g)))
    across = np.roll(u, 1) - np.roll(u, 1).dot(u) * u
    if np.linalg.norm(across) < 1e-9:
        across = np.ones(len(u)) - u.sum() * u
    yield g @ u + blur[0]
    yield g @ across / np.linalg.norm(across) + blur[1]


def p_value(one: Array, other: Array, u: Array) -> float:
    """Return the p-value of Kolmogorov's and Smirnov's test on every view, times their number."""
    pairs = zip(views(one, u), views(other, u), strict=True)
    return min(1.0, 2 * min(float(ks_2samp(*pair).pvalue) for pair in pairs))


def in_one_number(k: int, epsilon: float, codebooks: int = 2000) -> float:
    """Return what is read of a gradient in one number of any model, in units of its length."""
    choice = Choice(k, best_closest(k, epsilon), epsilon)
    ones = np.random.default_rng(k).binomial(8, 0.5, (codebooks, k))
    values = -np.sort(-(ones - CODE_MEAN) / CODE_VARIANCE**0.5, axis=1)
    close, others = values[:, : choice.t].mean(), values[:, choice.t :].mean()
    return float((choice.p * close + (1 - choice.p) * others) / choice.pull)


def print_one_number() -> None:
    print("\n| k | ε = 1 | ε = 4 | ε = 10 | ε = 20 |\n|---|---|---|---|---|", flush=True)
    for k in (256, 1024, 4096):
        cells = (f"{in_one_number(k, epsilon):.3f}" for epsilon in (1.0, 4.0, 10.0, 20.0))
        print(f"| {k:,} | {' | '.join(cells)} |", flush=True)


def main(n: int) -> None:
    print_one_number()
    if not n:
        return
    print(
        "| gradient | ε = 1 | ε = 4 | ε = 10 | the same law? |\n|---|---|---|---|---|", flush=True
    )
    for shape in (spread(2), alone(2), spread(12), alone(12), spread(99), alone(99)):
        cells, ps = [], []
        for epsilon in (1.0, 4.0, 10.0):
            found, drawn = real(epsilon, shape.u, n), simulated(epsilon, shape.u, n)
            along = found @ shape.u
            cells.append(f"{along.mean():.3f} ± {along.std() / n**0.5:.3f}")
            ps.append(p_value(found, drawn, shape.u))
        law = "yes" if min(ps) > 1e-3 else "no"
        print(f"| {shape.name} | {' | '.join(cells)} | {law} (p = {min(ps):.1g}) |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
