"""Test that sweeps on a cluster give the same results as this machine."""

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.simulation import Crowd, Learning, Plan, simulate, uniform_delay
from crowdml.simulation.plan import APPROACHES
from tests.simulation.toy import classes

CROWD = Crowd(devices=30, batch=2, delay=uniform_delay(5))
PLANS = [Plan(CROWD, Learning(epsilon=5.0, c=c), name) for name in APPROACHES for c in (1.0, 3.0)]
PLANS.append(Plan(replace(CROWD, batch=5), Learning(c=3.0)))


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def check_same(engine: str) -> None:
    here, there = (simulate(classes(), PLANS, 2, 1, 5, where) for where in (None, engine))
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one.errors, other.errors)
        assert one.checkins == other.checkins


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Start two worker processes, as on a cluster of two machines."""
    if not installed("distributed"):
        pytest.skip("distributed is not installed: pip install distributed")
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.filterwarnings("default")
def test_dask_gives_the_same(scheduler: str) -> None:
    check_same(f"dask={scheduler}")


@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(not installed("ray"), reason="ray is not installed: pip install ray")
def test_ray_gives_the_same() -> None:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        check_same("ray")
    finally:
        ray.shutdown()


def test_unknown_engine_is_rejected() -> None:
    with pytest.raises(InvalidInput, match=r"engine must be ray or dask, .* found 'spark'"):
        simulate(classes(), PLANS, engine="spark")


@pytest.mark.parametrize(("engine", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_missing_package_is_named(
    engine: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InvalidInput, match=f"pip install {package}"):
        simulate(classes(), PLANS, engine=engine)


def test_unreachable_cluster_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["crowdml.simulation.engine"], "CONNECT_SECONDS", 0.5)
    if not installed("distributed"):
        pytest.skip("distributed is not installed: pip install distributed")
    with pytest.raises(InvalidInput, match="no dask cluster answers at"):
        simulate(classes(), PLANS, engine="dask=tcp://127.0.0.1:9")
