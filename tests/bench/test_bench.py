"""Check that the benchmarks run and report every number; the values are not asserted."""

import math
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from crowdml.bench.server import MECHANISMS, session_cpu_seconds
from tests.cli.command import Here
from tests.support.postgres import running_postgres


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(tmp_path, capsys=capsys)


def test_device(here: Here) -> None:
    results = here("bench", "device", "--json").json()
    assert set(results) >= {"cpu_ms", "bytes", "import_s", "rss_mb"}
    for name, value in results.items():
        assert math.isfinite(value), name
        assert value > 0, name
    assert 130 < results["bytes"] < 170, "a hash, an id, and some small numbers"


SERVER = {
    "checkins_per_s", "empty_per_s", "ratio", "p50_ms", "p99_ms", "cpu_ms_per_checkin",
    "cpu_ms_per_empty", "cpu_ratio", "server_cpu", "generator_cpu", "generator_cpu_empty",
    "generator_queued", "generator_queued_empty", "clients", "workers",
}  # fmt: skip
LISTENED = {
    "listeners", "events_per_s", "listened_per_s", "listened_ratio", "listened_cpu_ratio",
    "listened_p50_ms", "listened_p99_ms",
}  # fmt: skip
SHORT = ("bench", "server", "--json", "--seconds", 0.3, "--clients", 8, "--listeners", 0)


def _check(results: dict[str, float], more: set[str] | None = None) -> None:
    """Check that every number of a mechanism is there and plausible."""
    assert set(results) == SERVER | (more or set())
    for name, value in results.items():
        assert math.isfinite(value), name
        assert value > 0 or name.startswith("generator_queued"), name
    assert results["generator_cpu"] < 1.1, "one process has one core at most"


def test_server_with_tls_check_outs_and_listeners(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that listeners have an event a second, in one round that lasts for two seconds."""
    monkeypatch.setattr("crowdml.bench.server.MECHANISMS", ["direction"])
    monkeypatch.setattr("crowdml.bench.server.ROUNDS", 1)
    options = ("--tls", "--checkouts", 0.5, "--generators", 2, "--seconds", 2)
    (results,) = here(*SHORT[:-1], 20, *options).json().values()
    _check(results, LISTENED | {"checkouts_per_s", "checkout_p50_ms", "checkout_p99_ms"})
    checkouts, checkins = results["checkouts_per_s"], results["checkins_per_s"]
    assert results["ratio"] == pytest.approx((checkouts + checkins) / results["empty_per_s"])
    assert 1 / 20 < checkouts / checkins < 20, "one is as likely as the other"
    assert results["listeners"] == 20
    assert 0 < results["events_per_s"] < 200, "not one for each check-in"


def test_server_with_several_workers(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MECHANISMS == ("direction", "laplace")
    monkeypatch.setattr("crowdml.bench.server.MECHANISMS", ["laplace"])
    monkeypatch.setattr("crowdml.bench.server.ROUNDS", 2)
    with running_postgres() as postgres:
        database = ("--database", postgres.make("bench"))
        ran = here(*SHORT, *database, "--workers", "1,2")
        again = here(*SHORT, *database)
    one, two = ran.json()["settings"]
    for workers, setting in ((1, one), (2, two)):
        assert setting["workers"] == workers
        results = setting["laplace"]
        _check(results)
        assert (results["clients"], results["workers"]) == (8, workers)
        assert results["p50_ms"] <= results["p99_ms"]
        rates = results["checkins_per_s"], results["empty_per_s"]
        assert results["ratio"] == pytest.approx(rates[0] / rates[1])
    assert "must be empty" in again.error()
    assert not list(here.folder.iterdir()), "nothing is left behind"


def test_the_cpu_of_all_workers_counts() -> None:
    busy = "sum(range(4 * 10**6))"
    program = f"import os, sys; os.fork(); {busy}; os.write(1, b'done\\n'); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"done\n"] * 2
        both = session_cpu_seconds(process.pid)
        fields = Path(f"/proc/{process.pid}/stat").read_text().split()
        process.stdin.close()
    one = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    assert both > 1.3 * one


def test_portal(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdml.bench.portal.REQUESTS", 3)
    results = here("bench", "portal", "--json", "--tasks", 20, "--checkins", 30).json()
    for page in ("list", "search", "task", "picture"):
        assert 0 < results[f"{page}_p50_ms"] <= results[f"{page}_p99_ms"]
        assert results[f"{page}_ratio"] > 0
    assert (results["tasks"], results["checkins"]) == (20, 30)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--clients", "0"], ["--seconds", "0"], ["--seconds", "nan"], ["--checkouts", "1"],
        ["--generators", "0"], ["--listeners", "2001"], ["--workers", "1,"], ["--workers", "65"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_nothing_to_measure(here: Here, arguments: list[str]) -> None:
    sentence = here("bench", "server", "--json", *arguments).error()
    assert arguments[0].strip("-") in sentence


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    from crowdml.cli.bench import _print

    _print({"checkins_per_s": 12345.6, "ratio": 0.512}, json=False)
    assert [row.split() for row in capsys.readouterr().out.splitlines()] == [
        ["checkins_per_s", "12,346"], ["ratio", "0.512"],
    ]  # fmt: skip


BENCHMARKS = sorted((Path(__file__).parents[2] / "benchmarks").rglob("*.py"))


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: file.stem)
def test_every_benchmark_can_be_loaded(file: Path) -> None:
    runpy.run_path(str(file), run_name="benchmark")
