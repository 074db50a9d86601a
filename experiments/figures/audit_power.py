"""Measure how often the audit finds a coin that is a few percent wrong, and in how many trials.

Check-ins are drawn from the law of a faulty device, not made by a device, so that a thousand audits
take minutes. The audit's own evidence then judges them.

Run: PYTHONPATH=. python experiments/figures/audit_power.py [AUDITS]
"""

import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from crowdml.checks.lower_bounds import AUDIT_FALSE_ALARM, lower_bound_of_numbers, scores_needed
from crowdml.privacy import best_closest
from crowdml.types import Ints

EPSILONS, FAULTS = (0.5, 1.0, 4.0, 10.0), (0.0, 0.02, 0.05, 0.1)
ROLES = {"evaluate": 2, "count": 3, "train": 1024}
"""The roles of check-ins, and how many numbers each chooses from, as in the audit's pairs."""

PARTS = 6
"""The parts of an audit of directions in Python that share its confidence.

They are three roles, a person's check-ins together, and two retries.
"""

LARGEST = 1.0
"""A coin cannot fall more often than always."""


def probability(epsilon: float, k: int, t: int) -> float:
    """Return the correct p."""
    odds = np.exp(epsilon)
    return float(t * odds / (t * odds + k - t))


def drawn(best: Ints, others: Ints, p: float, n: int, rng: np.random.Generator) -> Ints:
    """Draw what n check-ins send: one of the best with probability p."""
    truth = rng.random(n) < p
    return np.where(truth, rng.choice(best, n), rng.choice(others, n))


def found(epsilon: float, k: int, fault: float, trials: int, rng: np.random.Generator) -> bool:
    """Decide whether one audit finds a device broken whose p is too large by this share."""
    t = best_closest(k, epsilon) if k > 3 else 1
    p = min(LARGEST, probability(epsilon, k, t) * (1 + fault))
    order = np.arange(k)
    sides = [
        drawn(order[:t], order[t:], p, trials // 2, rng),
        drawn(order[k - t :], order[: k - t], p, trials // 2, rng),
    ]
    claimed = np.zeros(k)
    claimed[order[:t]], claimed[order[k - t :]] = epsilon, -epsilon
    return lower_bound_of_numbers(*sides, claimed, AUDIT_FALSE_ALARM / PARTS) > epsilon


def power(epsilon: float, k: int, fault: float, trials: int, audits: int, seed: int = 0) -> float:
    """Return the share of audits that find the fault."""
    rng = np.random.default_rng(seed)
    return sum(found(epsilon, k, fault, trials, rng) for _ in range(audits)) / audits


def _finds(epsilon: float, k: int, fault: float, trials: int) -> bool:
    """Decide whether all of five audits find the fault."""
    return power(epsilon, k, fault, trials, 5) >= 0.9


def least(enough: Callable[[int], bool], low: int, high: int) -> int | None:
    """Return the least number of trials that is enough, to two digits; None if above `high`."""
    if not enough(high):
        return None
    while high > 1.1 * low:
        middle = round((low * high) ** 0.5)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return int(float(f"{high:.1e}"))


def usual_trials(epsilon: float) -> int:
    """Return the default of `crowdml audit`: 200,000, or what a device without noise needs."""
    return max(200_000, 4 * scores_needed(epsilon, false_alarm=AUDIT_FALSE_ALARM / PARTS / 6))


def main(audits: int) -> None:
    print("| role | ε | p | trials | " + " | ".join(f"{fault:.0%}" for fault in FAULTS) + " |")
    print("|---|---|---|---|" + "---|" * len(FAULTS))
    for role, k in ROLES.items():
        for epsilon in EPSILONS:
            trials = usual_trials(epsilon)
            t = best_closest(k, epsilon) if k > 3 else 1
            shares = [power(epsilon, k, fault, trials, audits) for fault in FAULTS]
            row = " | ".join(f"{share:.0%}" for share in shares)
            p = probability(epsilon, k, t)
            print(f"| {role} | {epsilon:g} | {p:.5f} | {trials:,} | {row} |", flush=True)
    print("\n| role | ε | " + " | ".join(f"{fault:.0%}" for fault in FAULTS[1:]) + " |")
    print("|---|---|" + "---|" * len(FAULTS[1:]))
    for role, k in ROLES.items():
        for epsilon in EPSILONS:
            cells = []
            for fault in FAULTS[1:]:
                enough = partial(_finds, epsilon, k, fault)
                needed = least(enough, 500, 2_000_000)
                cells.append("more than 2,000,000" if needed is None else f"{needed:,}")
            print(f"| {role} | {epsilon:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
