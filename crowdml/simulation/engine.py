"""Run jobs on the cores of this machine, or on a cluster."""

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

import joblib
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from crowdml.errors import InvalidInput

CONNECT_SECONDS = 10.0
"""Seconds until a cluster counts as unreachable."""


def run_jobs(calls: Iterable[Any], engine: str | None, data: Any) -> Iterator[Any]:
    """Run jobs in threads (the compiled fold releases the interpreter lock), or on a cluster.

    `data`, which all calls share, are sent once to each worker of a Dask cluster.
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


def _cluster(engine: str, data: Any) -> AbstractContextManager[Any]:
    """Return joblib's backend for an existing cluster."""
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

            return _on_dask(Client(address or None, timeout=CONNECT_SECONDS), data)
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"--engine {name} needs {error.name}, which is not installed. "
            f"Run: pip install {'ray' if name == 'ray' else 'distributed'}"
        ) from error
    except (OSError, ValueError) as error:
        raise InvalidInput(f"no {name} cluster answers at {address}: {error}.") from error
    raise InvalidInput(f"engine must be ray or dask, perhaps with =ADDRESS, found {engine!r}.")


@contextmanager
def _on_dask(client: Any, data: Any) -> Iterator[None]:
    """Run joblib on Dask, as long as the client lives."""
    with closing(client), joblib.parallel_config(backend="dask", scatter=[data]):
        yield
