"""Measure how much harder a device pushes that lies, compared with an honest device.

Run: PYTHONPATH=. python experiments/figures/leverage.py
"""

import math

import numpy as np

from crowdml.privacy import CheckinEstimates, CheckinKey, Choice, Codebook, best_closest
from crowdml.simulation import Crowd, Dataset, Learning, LearningSetup, load_dataset
from crowdml.simulation.fold import checkin_step
from crowdml.simulation.trial import schedule_of_crowd
from crowdml.types import Array

DIRECTIONS, EPSILON = 1024, 4.0
PARTS = 10
"""The number of parts into which a run is divided."""


def choice_of(epsilon: float) -> Choice:
    return Choice(DIRECTIONS, best_closest(DIRECTIONS, epsilon), epsilon)


def heard(data: Dataset, batch: int, epsilon: float, seed: int) -> Array:
    """Return min(1, ‖u‖/S) of each check-in of a run: how much of S an honest device pushes."""
    rng = np.random.default_rng(seed)
    schedule = schedule_of_crowd(data, Crowd(len(data.y_train) // 60, batch), rng)
    learning = Learning(epsilon=epsilon)
    setup = LearningSetup.of(learning, data, schedule)
    stand_in, step = setup.stand_in, checkin_step(learning, setup)
    state, draws = step.start(setup.model.size), stand_in.draws(schedule.n_checkins, rng)
    seen, lengths = data.bounded(stand_in.norm), np.zeros(schedule.n_checkins)
    for i, rows in enumerate(np.split(schedule.used, schedule.start[1:-1])):
        x, y = seen.x_train[rows], seen.y_train[rows]
        g = setup.model.mean_gradient(state.w, x, y, math.inf, stand_in.norm)
        lengths[i] = np.linalg.norm(g) / stand_in.length
        hidden = stand_in.hide(g, len(rows), draws[i], rng)
        state = step(state, CheckinEstimates(g=hidden), int(schedule.device[i]), len(rows))
    return np.minimum(1.0, lengths)


def leverages(data: Dataset, batch: int, epsilon: float, trials: int) -> Array:
    """Return 3.25/(m·E min(1, ‖u‖/S)) in each part of a run, one row for each run.

    m belongs to the run's ε, and to ε = 4 where the model is learnt without noise.
    """
    runs = [heard(data, batch, epsilon, seed) for seed in range(trials)]
    honest = np.array([[part.mean() for part in np.array_split(run, PARTS)] for run in runs])
    own = EPSILON if math.isinf(epsilon) else epsilon
    return choice_of(own).leverage / honest


def pushed(enrolments: int, size: int, trials: int) -> float:
    """Return how far a liar pushes along an aim, in honest pushes of length S.

    The liar enrols `enrolments` times, and uses the name whose codebook suits the aim best.
    """
    aim = np.random.default_rng(0).normal(size=size)
    aim /= np.linalg.norm(aim)
    best = []
    for trial in range(trials):
        names = (f"device-{trial}-{i}" for i in range(enrolments))
        books = (Codebook(size, CheckinKey("0" * 64, name, 1)) for name in names)
        best.append(max(float(book.scores(aim, DIRECTIONS).max()) for book in books))
    return float(np.mean(best)) / math.sqrt(2) / choice_of(EPSILON).pull


def main() -> None:
    data = load_dataset("activity")
    print("| b | noise | first tenth | half-way | last tenth | most in a tenth of any run |")
    print("|---|---|---|---|---|---|")
    for batch in (1, 10, 60):
        for epsilon, name in ((EPSILON, "ε = 4"), (10.0, "ε = 10"), (math.inf, "none")):
            found = leverages(data, batch, epsilon, trials=3)
            mean = 1 / (1 / found).mean(axis=0)
            cells = mean[0], mean[PARTS // 2], mean[-1], found.max()
            row = " | ".join(f"{cell:.1f}" for cell in cells)
            print(f"| {batch} | {name} | {row} |", flush=True)
    print("\n| enrolments | pushes, in units of S |\n|---|---|")
    for enrolments, trials in ((1, 400), (10, 40), (100, 10), (1000, 8)):
        print(f"| {enrolments:,} | {pushed(enrolments, 99, trials):.2f} |", flush=True)


if __name__ == "__main__":
    main()
