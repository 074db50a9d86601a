"""Compare the simulator's defaults with the best of a grid that sees the test error.

Run: python experiments/untuned/untuned.py [MECHANISM …]
"""

import json
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from crowdml.protocol import MECHANISMS
from crowdml.simulation import Crowd, Dataset, Learning, Plan, load_dataset, simulate

TRIALS = {"mnist": 4, "cifar10": 4, "air": 4, "activity": 30, "digits": 30}
"""Fewer where a trial has more samples, and differs less from the next; thrice as many at ε = 1.

The best setting is chosen on every other trial and measured on the rest, so that it is not merely
the luckiest.
"""

BATCHES, EPSILONS = (5, 20, 50), (1.0, 4.0, 10.0)
FACTORS = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
CLIPS = {"direction": (), "gaussian": (0.03, 0.3, 1.0), "laplace": (0.06, 0.6, 2.0)}
CONSTANTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


def grid(usual: Learning, labels: bool) -> list[Learning]:
    """Yield D, S and the averaging by hand, and the paper's rate with and without averaging."""
    reach = MECHANISMS[usual.mechanism].reach[0 if labels else 1]
    reaches = [replace(usual, reach=factor * reach) for factor in FACTORS]
    clips = [replace(one, clip=clip) for one in reaches for clip in CLIPS[usual.mechanism]]
    averages = [replace(one, averaging=power) for one in reaches[1:-1] for power in (1.0, 8.0)]
    paper = [
        replace(usual, c=c, rate="sqrt", averaging=power, clip=clip)
        for c in CONSTANTS
        for power in (None, 8.0)
        for clip in (CLIPS[usual.mechanism][1:2] or (None,))
    ]
    return [*reaches, *clips, *averages, *paper]


def cell(data: Dataset, mechanism: str, batch: int, epsilon: float) -> dict[str, Any]:
    """Simulate one check-in from each device, so that its ε is a person's total loss."""
    crowd = Crowd(data.most_devices(batch), batch)
    model = "softmax" if data.labels else "huber"
    usual = Learning(mechanism=mechanism, epsilon=epsilon, model=model)
    learnings = [usual, *grid(usual, bool(data.labels))]
    plans = [Plan(crowd, learning) for learning in learnings]
    trials = TRIALS[data.name] * (3 if epsilon == 1 else 1)
    curves = simulate(data, plans, trials=trials, points=1)
    finals = np.array([curve.errors[:, -1] for curve in curves])
    best = int(finals[:, ::2].mean(axis=1).argmin())
    untuned, tuned = finals[0, 1::2], finals[best, 1::2]
    chosen = learnings[best]
    return {
        "mechanism": mechanism,
        "dataset": data.name,
        "batch": batch,
        "epsilon": epsilon,
        "checkins": curves[0].checkins,
        "untuned": float(untuned.mean()),
        "best": float(tuned.mean()),
        "lowest": float(finals.mean(axis=1).min() - finals[0].mean()),
        "trials": trials,
        "setting": {name: getattr(chosen, name) for name in ("reach", "clip", "averaging", "c")},
    }


def table(cells: list[dict[str, Any]]) -> str:
    """Print a row for each data set and b: the untuned error, and how far above the best it is."""
    lines = [f"| | {' | '.join(f'ε = {epsilon:g}' for epsilon in EPSILONS)} |", "|---|---|---|---|"]
    for name in TRIALS:
        for batch in BATCHES:
            row = [one for one in cells if (one["dataset"], one["batch"]) == (name, batch)]
            texts = [f"{one['untuned']:.3f} ({one['untuned'] - one['best']:+.3f})" for one in row]
            lines.append(f"| {name}, b = {batch} | {' | '.join(texts)} |")
    gaps = [one["untuned"] - one["best"] for one in cells]
    lines.append(
        f"\n{sum(gaps) / len(gaps):.3f} above the best on average, {max(gaps):.3f} at worst."
    )
    return "\n".join(lines)


def main(mechanisms: list[str]) -> None:
    for mechanism in mechanisms:
        cells = []
        for name in TRIALS:
            data = load_dataset(name)
            for batch in BATCHES:
                for epsilon in EPSILONS:
                    cells.append(cell(data, mechanism, batch, epsilon))
                    print(json.dumps(cells[-1]), file=sys.stderr, flush=True)
        print(f"## {mechanism}\n\n{table(cells)}\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["direction", "gaussian"])
