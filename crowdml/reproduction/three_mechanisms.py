"""Go beyond the paper: spend the same honest ε by three mechanisms, with nothing tuned.

There is one pass and every device checks in once. So ε is the loss of a sample with noise, and the
loss of the whole person with a direction. All settings are the defaults of a new task.
"""

from collections.abc import Callable
from itertools import product

import msgspec

from crowdml.protocol import MECHANISMS
from crowdml.simulation import Crowd, Dataset, Learning, Plan, guess_error, simulate

BEYOND = "beyond"
DATASETS = ("mnist", "cifar10")
BATCHES = (1, 5, 20, 60)
EPSILONS = (1.0, 2.0, 4.0, 10.0)


class ErrorAtEpsilon(msgspec.Struct, frozen=True):
    """Hold the error that one mechanism reached with one ε.

    Args:
        epsilon: ε of a person for a direction, of a sample for noise.
        mean: The test error, over trials.
        std: Its spread.
        per_person: The total ε that a person loses.
    """

    mechanism: str
    batch: int
    epsilon: float
    mean: float
    std: float
    per_person: float


class DatasetResults(msgspec.Struct, frozen=True):
    """Hold the results on one data set.

    Args:
        guess: The error of the most frequent label.
        central: With all data in one place.
    """

    guess: float
    central: float
    rows: tuple[ErrorAtEpsilon, ...]

    def error(self, mechanism: str, batch: int, epsilon: float) -> float:
        wanted = mechanism, batch, epsilon
        return next(r.mean for r in self.rows if (r.mechanism, r.batch, r.epsilon) == wanted)


def compare_mechanisms(
    load: Callable[[str], Dataset],
    trials: int,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> dict[str, DatasetResults]:
    """Run every mechanism, b and ε on the paper's image data."""
    return {
        name: _run(load(name), trials, seed, lambda share, k=k: progress((k + share) / 2))  # type: ignore[misc]
        for k, name in enumerate(DATASETS)
    }


def _run(
    data: Dataset, trials: int, seed: int, progress: Callable[[float], None]
) -> DatasetResults:
    tried = list(product(MECHANISMS, BATCHES, EPSILONS))
    plans = [
        Plan(
            Crowd(devices=max(1, len(data.y_train) // batch), batch=batch, checkins=1),
            Learning(mechanism=mechanism, epsilon=epsilon),
        )
        for mechanism, batch, epsilon in tried
    ]
    central = Plan(Crowd(devices=1), Learning(), "central-batch")
    curves = simulate(
        data, [*plans, central], trials, seed, 1, progress=lambda done, all_: progress(done / all_)
    )
    rows = tuple(
        ErrorAtEpsilon(*each, curve.final, float(curve.std[-1]), curve.epsilon_per_person)
        for each, curve in zip(tried, curves[:-1], strict=True)
    )
    return DatasetResults(guess_error(data, 1.0), curves[-1].final, rows)
