"""Test `crowdml audit` with few trials; `tests/checks` tests the audit itself."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from crowdml.checks import audit
from crowdml.checks.audit import Audit, Finding
from crowdml.checks.programs import PythonProgram
from tests.cli.command import Here

Prepared = Callable[[Audit], None]
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


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Prepared:
    """Let the command find this, without drawing check-ins."""

    def finding(found: Audit) -> None:
        monkeypatch.setattr("crowdml.checks.audit_mechanism", lambda *arguments: found)

    return finding


WITHIN = Finding(4.0, 3.25, 5.0, 1000)


def test_a_table(quick: Here, prepared: Prepared) -> None:
    prepared(Audit({"direction": WITHIN, "retry": Finding(1.0, 0.5, 2.0, 100)}))
    ran = quick("audit").said()
    assert "claimed ε " in ran
    assert [row.split("│")[1:5] for row in ran.splitlines() if "within the claim" in row] == [
        [" direction    ", " 4         ", " 3.250           ", " within the claim "],
        [" retry        ", " 1         ", " 0.500           ", " within the claim "],
    ]
    assert "BROKEN" not in ran
    assert "is called broken is at most 1e-09" in ran
    prepared(Audit({"checkin": WITHIN}, delta=1e-6))
    assert "claimed ε at δ = 1e-06" in quick("audit").said()


def test_undecided(quick: Here, prepared: Prepared) -> None:
    """Check that too few trials do not pass, and that the message has the number needed."""
    prepared(Audit({"direction": WITHIN, "count": Finding(10.0, 4.5, 5.0, 1_250_000)}))
    ran = quick("audit")
    assert ran.code == 1
    assert ran.out.count("undecided: needs 1,250,000 trials") == 1
    assert "BROKEN" not in ran.out
    assert "Use --trials 1250000 or more" in ran.err
    document = json.loads(quick("audit", "--json").out)
    assert (document["undecided"], document["passed"]) == (["count"], False)


def test_broken(quick: Here, prepared: Prepared) -> None:
    prepared(Audit({"direction": WITHIN, "count": Finding(1.0, 1.5, 5.0, 100)}))
    ran = quick("audit")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.count("BROKEN") == 1
    ran = quick("audit", "--json")
    assert (ran.code, json.loads(ran.out)["passed"]) == (1, False)


def test_what_cannot_be_audited(quick: Here) -> None:
    assert quick("audit", "--epsilon", 0).error() == "--epsilon must be above 0, found 0."
    assert "must lie in 1e-13 … 40" in quick("audit", "--epsilon", "41").error()
    assert "at least 100, found 99" in quick("audit", "--trials", 99).error()
    wrong = quick("audit", "--mechanism", "magic").error()
    assert "must be one of direction, gaussian, laplace, found 'magic'" in wrong
