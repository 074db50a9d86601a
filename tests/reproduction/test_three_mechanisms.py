"""Test the page beyond the paper: three mechanisms at the same ε."""

from pathlib import Path

import pytest

from crowdml.reproduction import reproduce, write_report
from crowdml.reproduction.three_mechanisms import (
    BATCHES,
    EPSILONS,
    DatasetResults,
    compare_mechanisms,
)
from crowdml.simulation import load_digits


@pytest.fixture(scope="module")
def found() -> dict[str, DatasetResults]:
    return compare_mechanisms(lambda name: load_digits(), trials=1)


def test_every_mechanism_batch_and_epsilon(found: dict[str, DatasetResults]) -> None:
    for each in found.values():
        assert len(each.rows) == 3 * len(BATCHES) * len(EPSILONS)
        assert each.central < each.guess


def test_a_person_loses_epsilon_by_a_direction_and_more_by_noise(
    found: dict[str, DatasetResults],
) -> None:
    for row in found["mnist"].rows:
        if row.mechanism == "direction":
            assert row.per_person == row.epsilon
        elif row.mechanism == "laplace":
            assert row.per_person == pytest.approx(row.batch * row.epsilon)


def test_more_epsilon_is_less_error(found: dict[str, DatasetResults]) -> None:
    each = found["mnist"]
    assert each.error("direction", 5, 10.0) < each.error("direction", 5, 1.0)


def test_the_page(tmp_path: Path) -> None:
    run = reproduce(["beyond"], trials=1, load=lambda name: load_digits())
    page = write_report(run, tmp_path).read_text()
    assert "Beyond the paper" in page
    assert (tmp_path / "beyond.png").stat().st_size > 1000
    assert run.summary()["beyond"]["mnist_direction_b60_eps4"]["ours"] <= 1.0
