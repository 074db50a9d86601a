"""Compute how sure somebody can become about a sample that Gaussian noise protects.

Run: PYTHONPATH=. python experiments/figures/certainty.py
"""

import math
from statistics import NormalDist

import msgspec
import numpy as np
from scipy.stats import norm

from crowdml.checks.pairs import replaced
from crowdml.checks.programs import PythonProgram
from crowdml.privacy import Loss, rho_of
from crowdml.protocol.figures import percent_sure
from crowdml.types import Array
from tests.privacy.pseudo import Pseudo

DELTA = 1e-6
NORMAL = NormalDist()


def tails(rho: float, bound: float) -> tuple[float, float]:
    """Return the probability that the loss is beyond ±bound, and that it ever was on the way.

    The second is for a server that stops when it is lucky. The laws are a normal law and a Brownian
    motion, with mean ρ and variance 2ρ.
    """
    deviation = math.sqrt(2 * rho)
    above, below = NORMAL.cdf((rho - bound) / deviation), NORMAL.cdf((-bound - rho) / deviation)
    return above + below, above + math.exp(bound) * below


def steps(rho: float, times: int = 1) -> tuple[Array, Array]:
    """Return a sum of discrete Gaussian numbers whose shift by 1 costs ρ each, and its law."""
    deviation = math.sqrt(1 / (2 * rho))
    most = math.ceil(10 * deviation) + 2
    z = np.arange(-most, most + 1)
    law = np.exp(-(z**2) * rho)
    law /= law.sum()
    total, chances = z, law
    for _ in range(times - 1):
        total, chances = np.arange(total[0] - most, total[-1] + most + 1), np.convolve(chances, law)
    return total, chances


def passed(rho: float, counts: float, bound: float) -> float:
    """Return the probability that the loss of a whole check-in is beyond ±bound.

    There is normal noise on the gradient, and there are whole numbers on an error count and two
    label counts, with this share of ρ each.
    """
    e, p_e = steps(counts * rho)
    y, p_y = steps(counts * rho / 2, times=2)
    centre = (1 - 2 * counts) * rho
    lattice = (counts * rho * (1 + 2 * e))[:, None] + (counts * rho * (1 + y))[None, :]
    left = bound - lattice - centre
    right = -bound - lattice - centre
    deviation = math.sqrt(2 * centre)
    beyond = norm.sf(left / deviation) + norm.cdf(right / deviation)
    return float(p_e @ beyond @ p_y)


def passed_by_counts(rho: float, labels: float, bound: float) -> float:
    """Return the same for a sample that is set aside, and so only in error and label counts."""
    e, p_e = steps((1 - labels) * rho)
    y, p_y = steps(labels * rho / 2, times=2) if labels else (np.zeros(1), np.ones(1))
    lattice = ((1 - labels) * rho * (1 + 2 * e))[:, None] + (labels * rho * (1 + y))[None, :]
    return float(p_e @ (np.abs(lattice) > bound) @ p_y)


def losses(delta: float, n: int) -> tuple[Loss, Array]:
    """Return the losses of n real check-ins by the claimed laws, and the claim."""
    (pair,) = (pair for pair in replaced("gaussian", 4.0, delta) if pair.name == "checkin")
    bodies, _ = PythonProgram(Pseudo()).transcripts(pair, 2 * n, lambda drawn: None)
    payload = [msgspec.json.decode(body, type=pair.mechanism.payload_type) for (body,) in bodies]
    return pair.mechanism.odds(payload, pair.minibatches(), pair.key)["checkin"]


def stopped(delta: float, rho: float, checkins: int, n: int, rng: np.random.Generator) -> float:
    """Return the share of n people about whom a lucky server becomes surer than it should.

    The server stops as soon as the loss is above its bound.
    """
    each, bound = rho / checkins, Loss(rho=rho, delta=delta).bound
    walk = np.cumsum(rng.normal(each, math.sqrt(2 * each), (n, checkins)), axis=1)
    return float((walk.max(axis=1) > bound).mean())


def main() -> None:
    print("| ε | certainty at ε | passed, in 10⁶ | certainty at δ | passed, in 10⁶ | if stopped |")
    print("|---|---|---|---|---|---|")
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 10.0):
        rho = rho_of(epsilon, DELTA)
        bound = Loss(rho=rho, delta=DELTA).bound
        before, (after, lucky) = tails(rho, epsilon)[0], tails(rho, bound)
        row = f"{percent_sure(epsilon)} % | {1e6 * before:.2f} | {percent_sure(bound)} % "
        print(f"| {epsilon:g} | {row}| {1e6 * after:.2f} | {1e6 * lucky:.2f} |", flush=True)
    print("\n| share of ρ for each kind of count | ε = 1 | ε = 4 | ε = 10 |\n|---|---|---|---|")
    for counts in (0.05, 0.2, 0.4, 0.49):
        cells = []
        for epsilon in (1.0, 4.0, 10.0):
            rho = rho_of(epsilon, DELTA)
            cells.append(1e6 * passed(rho, counts, Loss(rho=rho, delta=DELTA).bound))
        print(f"| {counts:g} | {' | '.join(f'{cell:.2f}' for cell in cells)} |", flush=True)
    print("\n| ε | a label is predicted | a number is predicted |\n|---|---|---|")
    for low, high in ((0.1, 1), (1, 2), (2, 4), (4, 8), (8, 20)):
        cells = []
        for labels in (0.05, 0.0):
            each = [rho_of(float(epsilon), DELTA) for epsilon in np.linspace(low, high, 60)]
            bounds = [Loss(rho=rho, delta=DELTA).bound for rho in each]
            worst = max(map(passed_by_counts, each, [labels] * 60, bounds))
            cells.append(f"{1e6 * worst:.2f}")
        print(f"| {low:g} to {high:g} | {' | '.join(cells)} |", flush=True)
    print("\n| δ | real check-ins beyond ε | beyond the bound | 20 check-ins, stopped |")
    print("|---|---|---|---|")
    for delta in (1e-2, 1e-3):
        claim, found = losses(delta, 20_000)
        shares = (np.abs(found) > claim.total).mean(), (np.abs(found) > claim.bound).mean()
        lucky = stopped(delta, claim.rho, 20, 200_000, np.random.default_rng(0))
        print(f"| {delta:g} | {shares[0]:.4f} | {shares[1]:.4f} | {lucky:.4f} |", flush=True)


if __name__ == "__main__":
    main()
