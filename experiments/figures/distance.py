"""Compare the rule for D, how far w should go from zero, with the best of a grid for small d.

Run: python experiments/figures/distance.py [--trials N]
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crowdml.simulation import Crowd, Dataset, FoldInputs, Learning, error_rate
from crowdml.simulation.trial import schedule_of_crowd
from crowdml.types import Array

REACHES = (1.0, 2.0, 4.0, 8.0, 12.0, 20.0, 40.0, 80.0)
"""The values of D in the grid."""

DEVICES, EPSILONS, BATCH, TESTS = (100, 300, 1000), (0.5, 1.0, 4.0, 10.0), 20, 1000


@dataclass(frozen=True)
class World:
    """Draw samples whose labels follow from their place.

    Args:
        centres: Where the cloud of each label is; rows are about 1 long.
        width: How wide each cloud is.
        shares: How frequent each label is; all alike by default.
        intercept: Whether the model has intercepts.
    """

    name: str
    centres: tuple[tuple[float, ...], ...]
    width: float
    shares: tuple[float, ...] | None = None
    intercept: bool = False

    def draw(self, n_samples: int, rng: np.random.Generator) -> Dataset:
        n, centres = n_samples + TESTS, np.array(self.centres)
        y = rng.choice(len(centres), size=n, p=self.shares)
        x = centres[y] + self.width * rng.normal(size=(n, centres.shape[1]))
        labels, nobody = tuple(map(str, range(len(centres)))), np.zeros(n_samples, np.int64)
        train, test = slice(n_samples), slice(n_samples, None)
        answers: Array = y.astype(np.float64)
        return Dataset(self.name, labels, x[train], answers[train], nobody, x[test], answers[test])


def around(n_labels: int, n_features: int, far: float, offset: float = 0.0) -> Any:
    """Place centres on a sphere around a point that is `offset` away from zero in each feature."""
    rng = np.random.default_rng([n_labels, n_features])
    centres = rng.normal(size=(n_labels, n_features))
    centres *= far / np.linalg.norm(centres, axis=1, keepdims=True)
    return tuple(map(tuple, (centres + offset / n_features**0.5).tolist()))


WORLDS = (
    World("d = 4", ((0.5, 0.3), (-0.5, -0.1)), 0.25),
    World("d = 9", around(3, 3, 0.7), 0.2),
    World("d = 20", around(4, 5, 0.8), 0.2),
    World("d = 36", around(3, 12, 0.7), 0.2),
    World("off-centre", around(3, 4, 0.35, offset=0.7), 0.12),
    World("unbalanced", around(3, 4, 0.7), 0.2, (0.75, 0.2, 0.05)),
    World("intercepts", ((-0.7, 0, 0, 0), (0, 0, 0, 0), (0.7, 0, 0, 0)), 0.2, intercept=True),
)


def settings() -> Iterator[tuple[World, int, float]]:
    """Yield all 84 settings: a world, the number of devices, and ε."""
    for world in WORLDS:
        for devices in DEVICES:
            for epsilon in EPSILONS:
                yield world, devices, epsilon


def errors_of(
    world: World, devices: int, epsilon: float, trials: int, reaches: tuple[float, ...] = REACHES
) -> Array:
    """Return the errors of the rule and of each reach: a row each, a column for each trial."""
    crowd = Crowd(devices, BATCH, checkins=1, evaluators=0.15, counters=0.05)
    learning = Learning(epsilon=epsilon, intercept=world.intercept)
    found = [one_trial(world, crowd, learning, trial, reaches) for trial in range(trials)]
    return np.array(found).T


def one_trial(
    world: World, crowd: Crowd, learning: Learning, trial: int, reaches: tuple[float, ...]
) -> list[float]:
    """Run one trial; all reaches have the same samples and noise, and differ only in D."""
    data = world.draw(crowd.devices * BATCH, np.random.default_rng([trial, 1]))
    training = schedule_of_crowd(data, crowd, np.random.default_rng([trial, 2])).training
    ends, errors = np.array([training.n_checkins]), []
    for reach in (None, *reaches):
        ready = FoldInputs.of(data, training, replace(learning, reach=reach))
        w, _ = ready.fold(ends, np.random.default_rng([trial, 3]))
        errors.append(
            error_rate(ready.setup.model, w[-1], *data.bounded_test(ready.setup.stand_in.norm))
        )
    return errors


def gap(errors: Array) -> tuple[float, float, int]:
    """Return the rule's error, the error of the best reach, and the best reach.

    The best reach is chosen on every other trial and measured on the rest, and the other way round,
    so that it is not merely the luckiest.
    """
    halves = errors[:, ::2], errors[:, 1::2]
    chosen = [int(half[1:].mean(axis=1).argmin()) for half in halves]
    best = np.mean([halves[1][1 + chosen[0]].mean(), halves[0][1 + chosen[1]].mean()])
    return float(errors[0].mean()), float(best), int(errors[1:].mean(axis=1).argmin())


def table(cells: list[dict[str, Any]]) -> str:
    """Print for each world how far the rule is above the best reach, and the worst setting."""
    lines = ["| | mean above the best | worst | its error | the best reach there | its error |"]
    lines.append("|---" * 6 + "|")
    for name in (*(world.name for world in WORLDS), "all"):
        own = [cell for cell in cells if name in (cell["world"], "all")]
        worst = max(own, key=lambda cell: cell["rule"] - cell["best"])
        mean = float(np.mean([cell["rule"] - cell["best"] for cell in own]))
        lines.append(
            f"| {name} | {mean:.4f} | {worst['rule'] - worst['best']:.3f} | {worst['rule']:.3f} "
            f"| {worst['reach']:g} | {worst['best']:.3f} |"
        )
    return "\n".join(lines)


def trials_for(trials: int, devices: int, epsilon: float) -> int:
    """Return the number of trials: more where noise is strong, fewer where a crowd is large."""
    if epsilon > 1:
        return trials if devices < 1000 else trials // 2
    return 10 * trials if devices < 1000 else 5 * trials // 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=40)
    trials, cells = parser.parse_args().trials, []
    for world, devices, epsilon in settings():
        errors = errors_of(world, devices, epsilon, trials_for(trials, devices, epsilon))
        rule, best, place = gap(errors)
        cells.append({"world": world.name, "devices": devices, "epsilon": epsilon, "rule": rule,
                      "best": best, "reach": REACHES[place]})  # fmt: skip
        print(json.dumps(cells[-1]), file=sys.stderr, flush=True)
    print(table(cells))


if __name__ == "__main__":
    main()
