"""Many trials of many settings, over the cores of this machine or of a cluster."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from crowdml.errors import InvalidInput
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.settings import Crowd, Learning
from crowdml.simulation.trial import Lane, run_trial
from crowdml.types import Array, Ints

__all__ = ["Curve", "run_jobs", "simulate", "tune", "validation_split"]

RATES = tuple(float(c) for c in np.geomspace(0.1, 1000, 9))
REGULARIZATIONS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)
VALIDATION = 0.15
PATIENCE = 10.0
"""Seconds until a cluster counts as unreachable."""


@dataclass(frozen=True)
class Curve:
    """What all trials of one setting gave.

    Args:
        samples: The clock at each point: samples generated so far.
        errors: Test errors, trials × points.
        online_errors: Time-averaged errors before learning, trials × points.
        checkins: How many there were, on average.
        epsilon_per_sample: What the most used sample lost.
        epsilon_per_device: What the busiest device spent over its check-ins.
        seconds: Of computing, all trials together.
    """

    samples: Ints
    errors: Array
    online_errors: Array
    checkins: float
    epsilon_per_sample: float
    epsilon_per_device: float
    seconds: float = 0.0

    @property
    def mean(self) -> Array:
        mean: Array = self.errors.mean(axis=0)
        return mean

    @property
    def std(self) -> Array:
        spread: Array = self.errors.std(axis=0)
        return spread

    @property
    def final(self) -> float:
        return float(self.mean[-1])

    @classmethod
    def of(cls, lanes: Sequence[Lane]) -> "Curve":
        return cls(
            samples=lanes[0].samples,
            errors=np.array([lane.errors for lane in lanes]),
            online_errors=np.array([lane.online_errors for lane in lanes]),
            checkins=float(np.mean([lane.checkins for lane in lanes])),
            epsilon_per_sample=max(lane.epsilon_per_sample for lane in lanes),
            epsilon_per_device=max(lane.epsilon_per_device for lane in lanes),
            seconds=sum(lane.seconds for lane in lanes),
        )


def simulate(
    data: Dataset,
    runs: Sequence[tuple[Crowd, Learning]],
    trials: int = 1,
    seed: int = 0,
    points: int = 30,
    engine: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Curve]:
    """A curve for each run. Runs with the same crowd share their schedules.

    Args:
        data: What is learnt.
        runs: Who learns, and how.
        trials: How often each is repeated, with everything random drawn anew.
        seed: The same seed gives the same curves.
        points: Where to look, evenly over the clock.
        engine: None for the cores of this machine; `ray` or `dask`, with `=ADDRESS` for an
            existing cluster.
        progress: Called with the number of jobs done and in all.
    """
    if trials < 1:
        raise InvalidInput(f"trials must be at least 1, found {trials}.")
    crowds = list(dict.fromkeys(crowd for crowd, _ in runs))
    ways = {crowd: [way for other, way in runs if other == crowd] for crowd in crowds}
    workers = (os.cpu_count() or 1) if engine is None else len(runs) * trials
    parts = math.ceil(workers / (len(crowds) * trials))
    jobs = [
        (crowd, trial, part)
        for trial in range(trials)
        for crowd in crowds
        for part in _cut(len(ways[crowd]), parts)
    ]
    calls = (
        joblib.delayed(run_trial)(
            data, crowd, ways[crowd][part], (seed, trial), points, first=part.start
        )
        for crowd, trial, part in jobs
    )
    lanes: dict[tuple[Crowd, int], list[Lane]] = {}
    results = run_jobs(calls, engine, data)
    for done, ((crowd, trial, _), found) in enumerate(zip(jobs, results, strict=True), start=1):
        lanes.setdefault((crowd, trial), []).extend(found)
        progress(done, len(jobs))
    curves = []
    for crowd, way in runs:
        number = ways[crowd].index(way)
        curves.append(Curve.of([lanes[crowd, trial][number] for trial in range(trials)]))
    return curves


def tune(
    data: Dataset,
    crowd: Crowd,
    way: Learning,
    seed: int = 0,
    rates: Sequence[float] | None = RATES,
    regularizations: Sequence[float] | None = REGULARIZATIONS,
) -> Learning:
    """The best c, then the best λ, by the final error on the test set of `data`.

    Give it `validation_split(data)`, so that the real test set stays unseen.
    """
    if rates is not None and way.optimizer != "auto":
        way = _best(data, crowd, [replace(way, c=c) for c in rates], seed)
    if regularizations is not None:
        ways = [replace(way, regularization=strength) for strength in regularizations]
        way = _best(data, crowd, ways, seed)
    return way


def validation_split(data: Dataset, seed: int = 0) -> Dataset:
    """The training samples alone, some of them set aside for testing; whole people where there
    are enough of them."""
    rng = np.random.default_rng(seed)
    people = np.unique(data.person)
    if len(people) >= 5:
        chosen = rng.permutation(people)[: math.ceil(VALIDATION * len(people))]
        aside = np.isin(data.person, chosen)
    else:
        aside = rng.random(len(data.y_train)) < VALIDATION
    return replace(
        data,
        x_train=data.x_train[~aside],
        y_train=data.y_train[~aside],
        person=data.person[~aside],
        x_test=data.x_train[aside],
        y_test=data.y_train[aside],
    )


def _best(data: Dataset, crowd: Crowd, ways: list[Learning], seed: int) -> Learning:
    curves = simulate(data, [(crowd, way) for way in ways], seed=seed, points=1)
    return min(zip(ways, curves, strict=True), key=lambda pair: pair[1].final)[0]


def _cut(n: int, parts: int) -> list[slice]:
    """0 … n in about equal parts, none of them empty."""
    ends = np.linspace(0, n, min(n, parts) + 1).astype(int).tolist()
    return [slice(*pair) for pair in pairwise(ends)]


def run_jobs(calls: Iterable[Any], engine: str | None, data: Dataset) -> Iterator[Any]:
    """Threads on this machine (the compiled fold lets go of the interpreter), or a cluster.

    `data`, which all calls share, is sent once to each worker of a Dask cluster.
    """
    if engine is None:
        parallel = joblib.Parallel(
            n_jobs=os.cpu_count() or 1, prefer="threads", return_as="generator"
        )
        with threadpool_limits(limits=1):
            yield from parallel(calls)
        return
    with _cluster(engine, data):
        yield from joblib.Parallel(n_jobs=-1)(calls)


def _cluster(engine: str, data: Dataset) -> AbstractContextManager[Any]:
    """joblib's backend for an existing cluster."""
    name, _, address = engine.partition("=")
    try:
        if name == "ray":
            import ray
            from ray.util.joblib import register_ray

            if not ray.is_initialized():
                ray.init(address=address or None, log_to_driver=False)
            register_ray()
            backend: AbstractContextManager[Any] = joblib.parallel_config(backend="ray")
            return backend
        if name == "dask":
            from distributed import Client

            return _DaskCluster(Client(address or None, timeout=PATIENCE), data)
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"--engine {name} needs {error.name}, which is not installed. "
            f"Run: pip install {'ray' if name == 'ray' else 'distributed'}"
        ) from error
    except OSError as error:
        raise InvalidInput(f"no {name} cluster answers at {address}: {error}.") from error
    raise InvalidInput(f"engine must be ray or dask, perhaps with =ADDRESS, found {engine!r}.")


class _DaskCluster(AbstractContextManager[None]):
    """joblib on Dask, for as long as the client lives."""

    def __init__(self, client: Any, data: Dataset) -> None:
        self._client, self._data = client, data
        self._config: AbstractContextManager[Any] = nullcontext()

    def __enter__(self) -> None:
        self._config = joblib.parallel_config(backend="dask", scatter=[self._data])
        self._config.__enter__()

    def __exit__(self, *details: Any) -> None:
        self._config.__exit__(*details)
        self._client.close()
