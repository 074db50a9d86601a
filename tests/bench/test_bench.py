"""The benchmarks run and report every figure; how large they are is not for tests to say."""

import math
from pathlib import Path

import pytest

from tests.cli.command import Command, Here


def test_device(tmp_path: Path) -> None:
    figures = Command(tmp_path)("bench", "device", "--json").json()
    assert set(figures) >= {"cpu_ms", "bytes", "import_s", "rss_mb"}
    for name, value in figures.items():
        assert math.isfinite(value), name
        assert value > 0, name
    assert 130 < figures["bytes"] < 170, "a hash, an id, and some small numbers"


def test_server(tmp_path: Path) -> None:
    ran = Command(tmp_path)("bench", "server", "--json", "--seconds", 1, "--clients", 8)
    both = ran.json()
    assert set(both) == {"direction", "laplace"}
    for figures in both.values():
        assert set(figures) >= {
            "checkins_per_s", "empty_per_s", "ratio", "p50_ms", "p99_ms", "cpu_ms_per_checkin",
        }  # fmt: skip
        for name, value in figures.items():
            assert math.isfinite(value), name
            assert value > 0, name
        assert figures["p50_ms"] <= figures["p99_ms"]
        rates = figures["checkins_per_s"], figures["empty_per_s"]
        assert figures["ratio"] == pytest.approx(rates[0] / rates[1])
        assert figures["clients"] == 8
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_portal(tmp_path: Path) -> None:
    ran = Command(tmp_path)("bench", "portal", "--json", "--tasks", 20, "--checkins", 300)
    figures = ran.json()
    for page in ("list", "search", "task", "picture"):
        assert 0 < figures[f"{page}_p50_ms"] <= figures[f"{page}_p99_ms"]
        assert figures[f"{page}_ratio"] > 0
    assert (figures["tasks"], figures["checkins"]) == (20, 300)


@pytest.mark.parametrize(
    "arguments", [["--clients", "0"], ["--seconds", "0"], ["--seconds", "nan"]], ids=" ".join
)
def test_nothing_to_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    sentence = Here(tmp_path, capsys=capsys)("bench", "server", "--json", *arguments).error()
    assert arguments[0].strip("-") in sentence


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    from crowdml.cli.bench import _print

    _print({"checkins_per_s": 12345.6, "ratio": 0.512}, json=False)
    assert [row.split() for row in capsys.readouterr().out.splitlines()] == [
        ["checkins_per_s", "12,346"], ["ratio", "0.512"],
    ]  # fmt: skip
