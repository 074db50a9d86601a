"""Test `crowdml audit` with few trials; `tests/checks` tests the audit itself."""

import json
import re
from pathlib import Path

import pytest

from crowdml.checks import audit
from crowdml.checks.programs import PythonProgram
from crowdml.privacy import Choice
from tests.cli.command import Here

PARTS = {
    "direction": {"direction", "evaluate", "count", "person"},
    "gaussian": {"gradient", "errors", "labels", "checkin", "heldout", "repeats"},
    "laplace": {"gradient", "errors", "labels", "checkin", "heldout", "repeats"},
}


@pytest.fixture(autouse=True)
def _no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out devices with files, which take long and are audited in `tests/checks`."""
    monkeypatch.setattr(audit, "WholeDevice", PythonProgram)


@pytest.mark.parametrize("mechanism", PARTS)
def test_every_mechanism(mechanism: str, quick: Here) -> None:
    ran = quick("audit", "--mechanism", mechanism, "--epsilon", 1, "--trials", 400, "--json")
    document = ran.json()
    general = {"mechanism", "language", "delta", "false_alarm", "undecided", "passed"}
    assert set(document) == general | {"parts"}
    assert (document["false_alarm"], document["undecided"]) == (1e-9, [])
    assert (document["mechanism"], document["passed"]) == (mechanism, True)
    assert set(document["parts"]) == PARTS[mechanism] | {"retry"}
    for part in document["parts"].values():
        assert set(part) == {"claimed", "lower_bound", "reach", "needed"}
        assert 0 <= part["lower_bound"] <= part["claimed"] <= 1.0 + 1e-9 < part["reach"]


def test_the_other_language_and_a_picture(quick: Here, tmp_path: Path) -> None:
    picture = tmp_path / "audit.svg"
    options = ("--mechanism", "laplace", "--language", "javascript", "--epsilon", 1, "--json")
    document = quick("audit", *options, "--trials", 400, "--plot", picture).json()
    assert (document["language"], document["passed"]) == ("javascript", True)
    assert set(document["parts"]) == PARTS["laplace"]
    assert "<svg" in picture.read_text()
    wrong = quick("audit", "--plot", tmp_path / "audit.txt").error()
    assert "must end in .pdf, .png, .svg" in wrong


def test_a_table(quick: Here) -> None:
    ran = quick("audit", "--trials", 4000).said()
    assert "claimed ε " in ran
    assert ran.count("│ 4  ") == 4, "the usual epsilon; retries are audited at a smaller one"
    assert ran.count("within the claim") == 5
    assert "evaluate" in ran
    assert "count" in ran
    assert "BROKEN" not in ran
    assert "is called broken is at most 1e-09" in ran
    said = quick("audit", "--mechanism", "gaussian", "--trials", 300).said()
    assert "claimed ε at δ = 1e-06" in said


def test_undecided(quick: Here) -> None:
    """Check that too few trials do not pass, and that the message has the number needed."""
    ran = quick("audit", "--epsilon", 10, "--trials", 2000)
    assert ran.code == 1
    assert ran.out.count("undecided: needs") == 4
    assert "BROKEN" not in ran.out
    (needed,) = re.findall(r"Use --trials (\d+) or more", ran.err)
    assert 1_200_000 < int(needed) < 1_300_000


def test_broken(quick: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that randomness with one outcome is found."""
    monkeypatch.setattr(Choice, "coin", 2**64)
    ran = quick("audit", "--epsilon", 1, "--trials", 2000)
    assert ran.code == 1
    assert ran.out.count("BROKEN") == 5
    ran = quick("audit", "--epsilon", 1, "--trials", 2000, "--json")
    assert ran.code == 1
    document = json.loads(ran.out)
    assert document["passed"] is False
    for part in PARTS["direction"]:
        assert document["parts"][part]["lower_bound"] > 1, part


def test_what_cannot_be_audited(quick: Here) -> None:
    assert quick("audit", "--epsilon", 0).error() == "--epsilon must be above 0, found 0."
    assert "must lie in 1e-13 … 40" in quick("audit", "--epsilon", "41").error()
    assert "at least 100, found 99" in quick("audit", "--trials", 99).error()
    wrong = quick("audit", "--mechanism", "magic").error()
    assert "must be one of direction, gaussian, laplace, found 'magic'" in wrong
