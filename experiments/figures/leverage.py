"""How much harder does a device push that lies, compared with an honest one?

Run: PYTHONPATH=. python experiments/figures/leverage.py
"""

import numpy as np

from crowdml.privacy import Choice, Codebook, best_closest
from crowdml.simulation import Crowd, Dataset, Learning, Rule, learn, load_dataset
from crowdml.simulation.trial import prepare
from crowdml.types import Array

DIRECTIONS = 1024
PARTS = 10
"""A run is looked at in so many parts."""


def choice_of(epsilon: float) -> Choice:
    return Choice(DIRECTIONS, best_closest(DIRECTIONS, epsilon), epsilon)


def heard(data: Dataset, batch: int, epsilon: float, seed: int) -> Array:
    """min(1, ‖u‖/S) of each check-in of a run in turn: how much of S an honest device pushes."""
    rng = np.random.default_rng(seed)
    schedule = prepare(data, Crowd(len(data.y_train) // 60, batch), rng)
    learning = Learning(epsilon=epsilon)
    model, stand_in, *_ = Rule.of(learning, data, schedule)
    w, _ = learn(data, schedule, learning, np.arange(schedule.n_checkins), rng)
    seen, used, start = data.bounded(stand_in.norm), schedule.used, schedule.start
    lengths = []
    for i, at in enumerate(schedule.version.tolist()):
        rows = used[start[i] : start[i + 1]]
        x, y = seen.x_train[rows], seen.y_train[rows]
        g = model.mean_gradient(w[at], x, y, np.inf, stand_in.norm)
        lengths.append(np.linalg.norm(g) / stand_in.length)
    return np.minimum(1.0, np.array(lengths))


def leverages(data: Dataset, batch: int, epsilon: float, seed: int = 0) -> Array:
    """3.25/(m·E min(1, ‖u‖/S)) in each part of a run."""
    parts = np.array_split(heard(data, batch, epsilon, seed), PARTS)
    return choice_of(epsilon).leverage / np.array([part.mean() for part in parts])


def pushed(epsilon: float, enrolments: int, size: int, trials: int) -> float:
    """How far a liar pushes along an aim, in honest pushes of length S, who enrols so many times
    and checks in with the name whose codebook suits the aim best."""
    aim = np.random.default_rng(0).normal(size=size)
    aim /= np.linalg.norm(aim)
    best = []
    for trial in range(trials):
        names = (f"device-{trial}-{i}" for i in range(enrolments))
        books = (Codebook(size, "0" * 64, name, 1) for name in names)
        best.append(max(float(book.scores(aim, DIRECTIONS).max()) for book in books))
    return float(np.mean(best)) / np.sqrt(2) / choice_of(epsilon).pull


def main() -> None:
    data = load_dataset("activity")
    print("| b | ε | if ‖u‖ ≥ S | first tenth | half-way | last tenth | most |")
    print("|---|---|---|---|---|---|---|")
    for batch in (1, 10, 60):
        for epsilon in (1.0, 4.0, 10.0):
            found = np.mean([leverages(data, batch, epsilon, seed) for seed in range(5)], axis=0)
            cells = (
                choice_of(epsilon).leverage,
                found[0],
                found[PARTS // 2],
                found[-1],
                max(found),
            )
            row = " | ".join(f"{cell:.2f}" for cell in cells)
            print(f"| {batch} | {epsilon:g} | {row} |", flush=True)
    print("\n| enrolments | pushes at ε = 4, in units of S |\n|---|---|")
    for enrolments, trials in ((1, 400), (10, 40), (100, 10), (1000, 4)):
        print(f"| {enrolments:,} | {pushed(4.0, enrolments, 99, trials):.2f} |", flush=True)


if __name__ == "__main__":
    main()
