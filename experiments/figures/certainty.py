"""Compute how sure somebody can become about a sample that Gaussian noise protects.

Run: PYTHONPATH=. python experiments/figures/certainty.py
"""

import math
from statistics import NormalDist

import msgspec
import numpy as np
from scipy.stats import norm

from crowdml.checks.pairs import replaced_pairs
from crowdml.checks.programs import PythonProgram
from crowdml.privacy import Loss, rho_of
from crowdml.protocol.numbers_in_words import percent_sure
from crowdml.types import Array
from tests.privacy.seeded_chance import SeededChance

DELTA = 1e-6
NORMAL = NormalDist()
NOTHING = np.zeros(1), np.ones(1)
"""No count, and its law."""


def tails(rho: float, bound: float) -> tuple[float, float, float]:
    """Return the probabilities that the loss is beyond ±bound, above it, and ever beyond ±bound.

    The second and third are for a server that stops when it is lucky. The second is that it becomes
    surer than the bound of the true value, the third that it becomes so of either value. The laws
    are a normal law and a Brownian motion, with mean ρ and variance 2ρ. The third is at most the
    sum of the probabilities that the motion ever passes +bound and −bound.
    """
    deviation = math.sqrt(2 * rho)
    above, below = NORMAL.cdf((rho - bound) / deviation), NORMAL.cdf((-bound - rho) / deviation)
    lucky = above + math.exp(bound) * below
    return above + below, lucky, lucky + below + math.exp(-bound) * above


def steps(rho: float, times: int = 1) -> tuple[Array, Array]:
    """Return a sum of discrete Gaussian numbers whose shift by 1 costs ρ each, and its law."""
    deviation = math.sqrt(1 / (2 * rho))
    if times == 2 and deviation > 20:  # up to e^−4000 the sum has the same kind of law
        return steps(rho / 2)
    most = math.ceil(10 * deviation) + 2
    z = np.arange(-most, most + 1)
    law = np.exp(-(z**2) * rho)
    law /= law.sum()
    total, probabilities = z, law
    for _ in range(times - 1):
        total, probabilities = (
            np.arange(total[0] - most, total[-1] + most + 1),
            np.convolve(probabilities, law),
        )
    return total, probabilities


def passed(rho: float, errors: float, labels: float, bound: float) -> float:
    """Return the probability that the loss of a whole check-in is beyond ±bound.

    There is normal noise on the gradient. There are whole numbers on an error count and on two
    label counts, with these shares of ρ. Without a share for the gradient, the sample is set aside:
    then it is only in the counts.
    """
    e, p_e = steps(errors * rho) if errors else NOTHING
    y, p_y = steps(labels * rho / 2, times=2) if labels else NOTHING
    by_errors, by_labels = errors * rho * (1 + 2 * e), labels * rho * (1 + y)
    centre = (1 - errors - labels) * rho
    if centre > 1e-9 * rho:
        lattice = by_errors[:, None] + by_labels[None, :] + centre
        deviation = math.sqrt(2 * centre)
        beyond = norm.sf((bound - lattice) / deviation) + norm.cdf((-bound - lattice) / deviation)
        return float(p_e @ beyond @ p_y)
    below = np.concatenate([[0.0], np.cumsum(p_e)])
    above = np.concatenate([np.cumsum(p_e[::-1])[::-1], [0.0]])
    high = above[np.searchsorted(by_errors, bound - by_labels, side="right")]
    low = below[np.searchsorted(by_errors, -bound - by_labels, side="left")]
    return float(p_y @ (high + low))


def passed_by_counts(rho: float, labels: float, bound: float) -> float:
    """Return the same for a sample that is set aside, and so only in error and label counts."""
    return passed(rho, 1 - labels, labels, bound)


def worst(
    delta: float, errors: float, labels: float, low: float, high: float, values: int
) -> float:
    """Return the highest probability that the bound is passed, in units of δ, for ε in a range.

    Where only errors are counted, the highest values are at `peaks`: there an error count of k just
    passes the bound.
    """
    least, most = rho_of(low, delta), rho_of(high, delta)
    peaks = (1 + 1e-9) * (NORMAL.inv_cdf(delta / 2) / np.arange(1, 1000)) ** 2 / 2
    every = np.concatenate(
        [np.geomspace(least, most, values), peaks[(peaks > least) & (peaks < most)]]
    )
    bounds = (Loss(rho=rho, delta=delta).bound for rho in every.tolist())
    found = (passed(rho, errors, labels, b) for rho, b in zip(every.tolist(), bounds, strict=True))
    return max(found) / delta


def losses(delta: float, n: int) -> tuple[Loss, Array]:
    """Return the losses of n real check-ins by the claimed laws, and the claim."""
    (pair,) = (pair for pair in replaced_pairs("gaussian", 4.0, delta) if pair.name == "checkin")
    bodies, _ = PythonProgram(SeededChance()).transcripts(pair, 2 * n, lambda drawn: None)
    payload = [msgspec.json.decode(body, type=pair.mechanism.payload_type) for (body,) in bodies]
    return pair.mechanism.log_ratios(payload, pair.minibatches(), pair.key)["checkin"]


def stopped(delta: float, rho: float, checkins: int, n: int, rng: np.random.Generator) -> float:
    """Return the share of n people about whom a lucky server becomes surer than it should.

    The server stops as soon as the loss is above its bound.
    """
    each, bound = rho / checkins, Loss(rho=rho, delta=delta).bound
    walk = np.cumsum(rng.normal(each, math.sqrt(2 * each), (n, checkins)), axis=1)
    return float((walk.max(axis=1) > bound).mean())


def main() -> None:
    print("| ε | certainty at ε | passed | certainty at δ | passed | if stopped: true | either |")
    print("|---|---|---|---|---|---|---|")
    for epsilon in (0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 10.0):
        rho = rho_of(epsilon, DELTA)
        bound = Loss(rho=rho, delta=DELTA).bound
        before = f"{1e6 * tails(rho, epsilon)[0]:.2f}"
        after = " | ".join(f"{1e6 * probability:.2f}" for probability in tails(rho, bound))
        row = f"{percent_sure(epsilon)} % | {before} | {percent_sure(bound)} % | {after}"
        print(f"| {epsilon:g} | {row} |", flush=True)
    print("\n| share of ρ for each kind of count | ε = 1 | ε = 4 | ε = 10 |\n|---|---|---|---|")
    for counts in (0.05, 0.2, 0.3, 0.375, 0.4, 0.49):
        cells = []
        for epsilon in (1.0, 4.0, 10.0):
            rho = rho_of(epsilon, DELTA)
            cells.append(1e6 * passed(rho, counts, counts, Loss(rho=rho, delta=DELTA).bound))
        print(f"| {counts:g} | {' | '.join(f'{cell:.2f}' for cell in cells)} |", flush=True)
    print("\n| ε | a label is predicted | a number is predicted |\n|---|---|---|")
    for low, high in ((0.1, 1), (1, 2), (2, 4), (4, 8), (8, 20)):
        cells = [f"{worst(DELTA, 1 - y, y, low, high, 2400):.2f}" for y in (0.05, 0.0)]
        print(f"| {low:g} to {high:g} | {' | '.join(cells)} |", flush=True)
    shares = ((0.95, 0.05), (1.0, 0.0), (0.75, 0.0), (0.7, 0.05), (0.8, 0.0), (0.9, 0.05),
              (0.95, 0.0), (0.98, 0.0), (0.99, 0.0))  # fmt: skip
    print("\n| δ | " + " | ".join(f"{e:g} + {y:g}" for e, y in shares) + " |")
    print("|---|" + "---|" * len(shares))
    for delta in (1e-15, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2):
        cells = []
        for e, y in shares:
            set_aside = e + y == 1
            found = worst(delta, e, y, *((0.01, 20, 4000) if set_aside else (0.7, 20, 1000)))
            cells.append(f"{found:.2f}")
        print(f"| {delta:g} | {' | '.join(cells)} |", flush=True)
    print("\n| δ | real check-ins beyond ε | beyond the bound | 20 check-ins, stopped |")
    print("|---|---|---|---|")
    for delta in (1e-2, 1e-3):
        claim, found = losses(delta, 20_000)
        shares = (np.abs(found) > claim.total).mean(), (np.abs(found) > claim.bound).mean()
        lucky = stopped(delta, claim.rho, 20, 200_000, np.random.default_rng(0))
        print(f"| {delta:g} | {shares[0]:.4f} | {shares[1]:.4f} | {lucky:.4f} |", flush=True)


if __name__ == "__main__":
    main()
