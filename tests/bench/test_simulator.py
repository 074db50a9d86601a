"""Check that the simulator's benchmark runs and reports every measure; values are not asserted."""

import math
import shutil
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from crowdml.bench.million import bench_million
from crowdml.bench.simulator import (
    CASES,
    MEASURES,
    BenchCase,
    bench_simulator,
    compile_c,
    fold_in_c,
    fold_in_numba,
    samples,
    table,
    write_samples,
)
from crowdml.bench.task import CLASSES, FEATURES
from crowdml.cli import app
from crowdml.errors import InvalidInput
from crowdml.models import Softmax
from crowdml.simulation.fold import fold_slowly
from crowdml.simulation.schedule.undelayed import one_by_one

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

TINY = ["bench", "simulator", "--samples", "400", "--rounds", "2"]


def test_json() -> None:
    ran = CliRunner().invoke(app, [*TINY, "--json"])
    assert ran.exit_code == 0, ran.output
    results = msgspec.json.decode(ran.stdout)
    assert set(results) == set(MEASURES)
    for name, cases in results.items():
        assert set(cases) == set(CASES) >= {"b1", "b20", "b1_noiseless"}
        if shutil.which("gcc") or "c" not in name.split("_"):
            assert all(math.isfinite(value) and value > 0 for value in cases.values()), name


def test_for_people() -> None:
    ran = CliRunner().invoke(app, TINY)
    assert ran.exit_code == 0, ran.output
    title, *rows = ran.stdout.splitlines()
    assert "checkins/s" in title
    assert [row.split()[0] for row in rows] == list(CASES)


def test_without_gcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    results = bench_simulator(100, 1)
    assert set(results["seconds_over_c"].values()) == {None}
    assert None not in results["checkins_per_s"].values()
    assert "–" in table(results)
    ran = CliRunner().invoke(app, TINY)
    assert ran.exit_code == 0
    assert "needs gcc" in ran.stderr


@pytest.mark.parametrize(("n", "rounds", "name"), [(19, 1, "samples"), (100, 0, "rounds")])
def test_nothing_to_measure(n: int, rounds: int, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} must be at least"):
        bench_simulator(n, rounds)


@needs_gcc
@pytest.mark.parametrize("batch", [1, 3, 4, 7, 20])
def test_c_does_the_same_arithmetic(tmp_path: Path, batch: int) -> None:
    """Compare w without noise in the C program, the compiled fold and plain NumPy.

    One check-in in fifteen has a much longer gradient than the others, and is shortened.
    """
    n, case = 1000, BenchCase(batch, math.inf, 30.0, "laplace")
    data = samples(n)
    data.x_train[np.arange(n) // batch % 15 > 0] *= 0.2
    found = fold_in_c(compile_c(tmp_path), write_samples(data, tmp_path / "samples"), n, case)
    ours = fold_in_numba(data, case)
    size = np.abs(ours.w).max()
    assert size > 0.1
    np.testing.assert_allclose(found.w, ours.w, atol=1e-5 * size)
    assert abs(found.wrong - ours.wrong) <= 2, "a tie to rounding may fall either way"


@needs_gcc
def test_c_draws_the_same_noise(tmp_path: Path) -> None:
    """Compare the scale of the noise of one check-in at w = 0, where w becomes c·noise.

    The C program's seed is fixed, so this test never fails at random.
    """
    case, data = CASES["b1_laplace"], samples(20)
    file = write_samples(data, tmp_path / "samples")
    noisy = fold_in_c(compile_c(tmp_path), file, 1, case).w
    assert np.abs(noisy).mean() == pytest.approx(case.c * case.stand_in.scale(1), rel=0.4)
    assert (noisy > 0).mean() == pytest.approx(0.5, abs=0.2)


@needs_gcc
def test_c_sends_the_same_directions(tmp_path: Path) -> None:
    """Sum directions along one gradient at a tiny constant rate, and check mean and variance.

    All samples are the same and the rate is tiny, so the gradient does not change; the rate falls
    as 1/√t, so w is Σ ĝ/√t. Along g its mean is S·Σ 1/√t, and across g its variance is (S/m)²·Σ
    1/t. Bounds are 6 standard errors, with a fixed seed.
    """
    n, case = 4000, BenchCase(1, 4.0, 1e-9)
    data = samples(20)
    same = replace(data, x_train=np.tile(data.x_train[:1], (n, 1)), y_train=np.zeros(n))
    file = write_samples(same, tmp_path / "samples")
    g = Softmax(FEATURES, CLASSES).gradients(
        np.zeros(FEATURES * CLASSES), same.x_train[:1], same.y_train[:1]
    )[0]
    towards, stand_in = -g / np.linalg.norm(g), case.stand_in
    t = np.arange(1, n + 1)
    along = min(stand_in.length, float(np.linalg.norm(g))) * (1 / np.sqrt(t)).sum()
    across = stand_in.scale(1) * np.sqrt((1 / t).sum())
    for w in (fold_in_c(compile_c(tmp_path), file, n, case).w, fold_in_numba(same, case).w):
        found = w / case.c
        pulled = found @ towards
        assert pulled == pytest.approx(along, abs=6 * across)
        rest = found - pulled * towards
        size = len(rest) - 1
        assert (rest**2).sum() / across**2 == pytest.approx(size, abs=6 * np.sqrt(2 * size))


@pytest.mark.parametrize("name", list(CASES))
def test_the_case_is_that_of_the_settings(name: str) -> None:
    """Check that the benchmark measures what the package's own settings learn."""
    case, data = CASES[name], samples(500)
    quiet = replace(case, epsilon=math.inf)
    schedule = one_by_one(500, case.batch)
    stops = np.array([schedule.n_checkins])
    w, _ = fold_slowly(data, schedule, quiet.learning, stops, np.random.default_rng(0))
    ours = fold_in_numba(data, quiet).w
    np.testing.assert_allclose(ours, w[-1], atol=1e-4 * np.abs(w).max())


def test_a_million_in_small() -> None:
    results = bench_million(devices=200, per_device=10)
    assert results["devices"] == 200
    assert results["samples"] == 2000
    assert 0 < results["checkins"] <= 200
    assert 0 < results["online_error"] < 1
    assert results["peak_mb"] >= results["data_peak_mb"] > 1
