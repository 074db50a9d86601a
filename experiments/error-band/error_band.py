"""Compute the width of the error's 95 % band: for one of 2C numbers, or right and wrong alone.

Run: python experiments/error-band/error_band.py
"""

import math

import numpy as np

from crowdml.checks.mechanisms import AlikeSamples
from crowdml.privacy import CheckinKey, Choice, DirectionMechanism, Role, Roles, SystemChance

__all__ = ["main", "new_width", "old_width", "simulated_width"]

CHECKINS, ERROR = 1000, 0.2
CLASSES, EPSILONS = (3, 10, 40), (1.0, 4.0)
OLD_SHARE, ROLES = 0.2, Roles(evaluators=0.15, counters=0.05)
Z = 1.96


def old_width(n_classes: int, epsilon: float) -> float:
    """Compute the width if a fifth of the check-ins sends 2·label + wrong, one of 2C numbers.

    For any label, C of the numbers say "wrong". With the probabilities P of the truth and Q of each
    other number, "wrong" has the probability (C − [wrong])·Q + [wrong]·P, and one error is read as
    1/(P − Q).
    """
    choice = Choice(2 * n_classes, 1, epsilon)
    gap = choice.likely - choice.unlikely
    says_wrong = n_classes * choice.unlikely + ERROR * gap
    return _width(says_wrong, gap, OLD_SHARE * CHECKINS)


def new_width(epsilon: float) -> float:
    """Compute the width if a smaller share sends right or wrong, one of two numbers for any C."""
    choice = Choice(2, 1, epsilon)
    gap = choice.likely - choice.unlikely
    return _width(choice.unlikely + ERROR * gap, gap, ROLES.evaluators * CHECKINS)


def _width(says_wrong: float, gap: float, n: float) -> float:
    return 2 * Z * math.sqrt(says_wrong * (1 - says_wrong) / n) / gap


def simulated_width(n_classes: int, epsilon: float, crowds: int) -> float:
    """Measure the width with the real mechanism, by the spread of the errors of many crowds.

    Each crowd has other devices, of which the public rule lets about 15 % evaluate.
    """
    mechanism = DirectionMechanism(epsilon, 16, 2, size=4, n_classes=n_classes, roles=ROLES)
    rng, chance = np.random.default_rng(0), SystemChance()
    zero = np.zeros(mechanism.size)
    right, wrong = (
        AlikeSamples(zero, zero, 1, 0, is_wrong, n_classes) for is_wrong in (False, True)
    )
    estimates = []
    for crowd in range(crowds):
        keys = [CheckinKey("5e" * 32, f"{crowd}-{i}", 1) for i in range(CHECKINS)]
        errors = []
        for key in keys:
            event = mechanism.event(1, key)
            if event.role is Role.EVALUATE:
                sample = wrong if rng.random() < ERROR else right
                payload = mechanism.make_payload(sample, event, key, chance)
                mechanism.check(payload, key)
                errors.append(mechanism.read(payload, key).errors)
        estimates.append(np.mean(errors))
    return float(2 * Z * np.std(estimates))


def main(crowds: int = 2000) -> None:
    """Print the table of the README."""
    print("| C | ε | one of 2C, 20 % | one of 2, 15 % | simulated | new/old |")
    print("|---|---|---|---|---|---|")
    for n_classes in CLASSES:
        for epsilon in EPSILONS:
            old, new = old_width(n_classes, epsilon), new_width(epsilon)
            found = simulated_width(n_classes, epsilon, crowds)
            print(
                f"| {n_classes} | {epsilon:g} | {old:.3f} | {new:.3f} | {found:.3f} "
                f"| {new / old:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
