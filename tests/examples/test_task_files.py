"""Check that the example task files are private tasks in which a phone can take part."""

from pathlib import Path

import pytest

import crowdml
from crowdml.protocol import Task

EXAMPLES = Path(crowdml.__file__).parents[1] / "examples"


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.name)
def test_a_task_file(file: Path) -> None:
    task = Task.from_toml(file.read_text(encoding="utf-8"))
    assert task.terms.private
    assert task.terms.features.sensor is not None
    assert task.terms.loss.total == pytest.approx(float(task.terms.privacy.epsilon))
