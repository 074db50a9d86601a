"""Check that what the documents say about liars is what the experiment has found."""

from pathlib import Path

import pytest

from crowdml.protocol import MECHANISMS
from crowdml.simulation import load_dataset
from experiments.poisoning.poisoning import cell

README = Path(__file__).parents[2] / "experiments/poisoning/README.md"


@pytest.mark.parametrize("mechanism", ["direction", "gaussian", "laplace"])
def test_the_figures_are_those_of_the_table(mechanism: str) -> None:
    table = README.read_text().partition("on the activity data\n")[2]
    (row,) = (line for line in table.splitlines() if line.startswith(f"| {mechanism} | 0.0"))
    honest, *lied = map(float, row.split("|")[2:-1])
    assert MECHANISMS[mechanism].errors_without_and_with_liars == pytest.approx(
        (honest, max(lied)), abs=0.005
    )


def test_one_in_ten_wrecks_noise_and_not_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the experiment in small, seeded."""
    for name, value in {"BATCH": 10, "EPSILON": 4.0, "TRIALS": 2}.items():
        monkeypatch.setattr(f"experiments.poisoning.poisoning.{name}", value)
    data = load_dataset("activity")
    lie = {"name": "largest values", "share": 0.1, "defence": "both caps"}
    assert cell(data, mechanism="direction", **lie)["error"] < 0.02
    assert cell(data, mechanism="laplace", **lie)["error"] > 0.3
