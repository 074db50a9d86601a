"""Test the command `crowdml reproduce`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crowdml.cli import app
from crowdml.errors import InvalidInput

RUN = CliRunner()


def test_json_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reproduce Figure 3 on the data that come with the package."""
    from crowdml.reproduction import load_plans, reproduce
    from crowdml.simulation import load_activity

    def small(names: list[str], **options: object) -> object:
        plans = {"fig3": load_plans()["fig3"]}
        return reproduce(names, trials=1, load=lambda name: load_activity("paper"), plans=plans)

    monkeypatch.setattr("crowdml.reproduction.reproduce", small)
    arguments = ["reproduce", "fig3", "--trials", "1", "--out", str(tmp_path / "out")]
    answer = RUN.invoke(app, [*arguments, "--json"])
    assert answer.exit_code == 0, answer.output
    printed = json.loads(answer.stdout)
    assert set(printed) == {"fig3"}
    assert printed["fig3"]["c_1"]["paper"] == pytest.approx(0.135)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "fig3.png", "fig3.svg", "report.html", "results.json",
    }  # fmt: skip
    words = RUN.invoke(app, arguments)
    assert "holds" in words.stdout
    assert "report.html" in words.stdout.replace("\n", "")


def test_unknown_figure(tmp_path: Path) -> None:
    answer = RUN.invoke(app, ["reproduce", "fig2", "--out", str(tmp_path / "out")])
    assert isinstance(answer.exception, InvalidInput)
    assert not (tmp_path / "out").exists()
