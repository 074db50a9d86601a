"""Count the check-ins a second of the compiled fold on one core, beside NumPy and C."""

import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from crowdml.bench.task import CLASSES, FEATURES
from crowdml.errors import CrowdmlError, InvalidInput
from crowdml.learning import length_limit
from crowdml.privacy import DirectionMechanism, StandIn
from crowdml.simulation import (
    FoldInputs,
    Learning,
    Schedule,
    fold_slowly,
    make_model,
    make_stand_in,
    one_by_one,
)
from crowdml.simulation.datasets import Dataset
from crowdml.types import Array

C_PROGRAM = Path(__file__).parents[2] / "benchmarks" / "fold.c"
C_FLAGS = (
    "-O3",
    "-march=native",
    "-fno-math-errno",
    f"-DFEATURES={FEATURES}",
    f"-DCLASSES={CLASSES}",
)


@dataclass(frozen=True)
class BenchCase:
    """Describe one setting: b, ε of a check-in, c and the mechanism."""

    batch: int
    epsilon: float
    c: float
    mechanism: str = "direction"

    @property
    def learning(self) -> Learning:
        return Learning(mechanism=self.mechanism, epsilon=self.epsilon, c=self.c)

    @property
    def stand_in(self) -> StandIn:
        return make_stand_in(
            self.learning, make_model(self.learning, FEATURES, CLASSES), self.batch
        )

    def schedule(self, n: int) -> Schedule:
        """Make a schedule with a separate device for each batch: ε is for one check-in."""
        return one_by_one(n, self.batch)._replace(checkins=1)


CASES = {
    "b1": BenchCase(1, 10.0, 1.0),
    "b20": BenchCase(20, 10.0, 100.0),
    "b1_laplace": BenchCase(1, 10.0, 1.0, "laplace"),
    "b20_laplace": BenchCase(20, 10.0, 100.0, "laplace"),
    "b1_noiseless": BenchCase(1, float("inf"), 300.0, "laplace"),
}


MOST_SAMPLES_AT_ONCE = max(case.batch for case in CASES.values())
MEASURES = (
    "checkins_per_s",
    "c_checkins_per_s",
    "numpy_checkins_per_s",
    "seconds_over_c",
    "seconds_over_numpy",
)
BenchResults: TypeAlias = dict[str, dict[str, float | None]]


class FoldTiming(NamedTuple):
    """Hold the time of a fold per check-in, and its result."""

    seconds: float
    wrong: int
    w: Array


def bench_simulator(n: int, rounds: int) -> BenchResults:
    """Run all cases on n synthetic samples.

    In each round every program runs once, in turn, so that a change in the machine's speed affects
    all programs. Seconds are CPU seconds; results are medians.

    Without gcc the results that need C are None.
    """
    if n < MOST_SAMPLES_AT_ONCE:
        raise InvalidInput(f"samples must be at least {MOST_SAMPLES_AT_ONCE}, found {n}.")
    if rounds < 1:
        raise InvalidInput(f"rounds must be at least 1, found {rounds}.")
    data = samples(n)
    results: BenchResults = {name: {} for name in MEASURES}
    with tempfile.TemporaryDirectory(prefix="crowdml-bench-") as folder:
        comparable = shutil.which("gcc") and C_PROGRAM.exists()
        program = compile_c(Path(folder)) if comparable else None
        file = write_samples(data, Path(folder) / "samples")
        for name, case in CASES.items():
            fold_in_numba(data, case)  # this run compiles the fold and allocates its memory
            ours, c, numpy = [], [], []
            for _ in range(rounds):
                ours.append(fold_in_numba(data, case).seconds)
                if program:
                    c.append(fold_in_c(program, file, n, case).seconds)
                numpy.append(fold_in_numpy(data, case))
            measured = [
                [1 / a for a in ours],
                [1 / b for b in c],
                [1 / b for b in numpy],
                [a / b for a, b in zip(ours, c, strict=False)],
                [a / b for a, b in zip(ours, numpy, strict=True)],
            ]
            for measure, values in zip(MEASURES, measured, strict=True):
                results[measure][name] = statistics.median(values) if values else None
    return results


def table(results: BenchResults) -> str:
    """Write the results as a table, with a row for each case."""
    titles = [name.replace("_", " ").replace(" per s", "/s") for name in MEASURES]
    lines = ["".join(f"{title:>22}" for title in ["", *titles])]
    for case in CASES:
        values = [results[name][case] for name in MEASURES]
        cells = ["–" if v is None else f"{v:,.0f}" if v >= 100 else f"{v:.3g}" for v in values]
        lines.append("".join(f"{cell:>22}" for cell in [case, *cells]))
    return "\n".join(lines)


def samples(n: int) -> Dataset:
    """Draw samples of a linear rule, with ‖x‖₁ = 1."""
    rng = np.random.default_rng(0)
    rule = rng.standard_normal((FEATURES, CLASSES))
    x = np.empty((n, FEATURES))
    best: list[Any] = []
    for first in range(0, n, 100_000):  # in place, so that memory never holds a second copy
        some = x[first : first + 100_000]
        some[:] = rng.standard_normal(some.shape, dtype=np.float32)
        some /= np.abs(some).sum(axis=1, keepdims=True)
        best.append((some @ rule).argmax(axis=1))
    y = np.concatenate(best)
    labels = tuple(str(k) for k in range(CLASSES))
    return Dataset("bench", labels, x, y, np.zeros(n, np.int64), x[:1000], y[:1000])


def fold_in_numba(data: Dataset, case: BenchCase) -> FoldTiming:
    """Run the simulator's own fold."""
    schedule = case.schedule(len(data.y_train))
    ready = FoldInputs.of(data, schedule, case.learning)
    before = time.thread_time()
    w, wrong = ready.fold(np.array([schedule.n_checkins]), np.random.default_rng(0))
    seconds = time.thread_time() - before
    return FoldTiming(seconds / schedule.n_checkins, int(wrong.sum()), w[-1])


def fold_in_numpy(data: Dataset, case: BenchCase, most: int = 1000) -> float:
    """Run the plain reference on the first check-ins, and return its seconds per check-in."""
    n = min(len(data.y_train), most * case.batch)
    schedule = case.schedule(n)
    stops = np.array([schedule.n_checkins])
    some = data.take(np.arange(n))
    before = time.thread_time()
    fold_slowly(some, schedule, case.learning, stops, np.random.default_rng(0))
    return (time.thread_time() - before) / schedule.n_checkins


def compile_c(folder: Path) -> Path:
    """Compile the C program for this machine."""
    program = folder / "fold"
    command = ["gcc", *C_FLAGS, str(C_PROGRAM), "-lm", "-o", str(program)]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        raise CrowdmlError(f"gcc could not compile {C_PROGRAM.name}: {made.stderr.strip()}")
    return program


def write_samples(data: Dataset, path: Path) -> Path:
    """Write samples in the format of the C program."""
    with path.open("wb") as file:
        file.write(data.x_train.astype(np.float32).tobytes())
        file.write(data.y_train.astype(np.float32).tobytes())
    return path


def fold_in_c(program: Path, file: Path, n: int, case: BenchCase) -> FoldTiming:
    """Run the C program: the same arithmetic, with other noise of the same law."""
    stand_in = case.stand_in
    limit = length_limit(stand_in)
    longest = stand_in.length if limit is None else limit
    law = [stand_in.law, stand_in.scale(case.batch), longest]
    if isinstance(stand_in.mechanism, DirectionMechanism):
        choice = stand_in.mechanism.choice
        law += [choice.k, choice.t, choice.p]
    arguments = [n, case.batch, case.c, 0, *law]
    command = [str(program), str(file), *map(str, arguments)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, wrong, *w = printed.split()
    return FoldTiming(float(seconds), int(wrong), np.array(w, dtype=float))
