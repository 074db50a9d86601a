"""Run the examples that consist of cells, from top to bottom, as programs and as notebooks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import environment
from tests.examples.module import EXAMPLES

SAYS = {
    "plan_a_crowd": [
        r"This crowd learns well: with direction .* 150 devices should reach an error of 0\.0",
        r" 150 people: error 0\.0",
        r"An error of 0\.05 needs about \d+ devices",
    ],
    "compare_mechanisms": [
        r"direction: error 0\.0\d+, a person loses 4\n",
        r" laplace: error 0\.0\d+, a person loses 80\n",
        r"\nerror 0\.0\d+, a person loses 4\n",
    ],
    "look_inside_a_server": [
        r"a person has lost 4\.0 in total",
        r"version: 40",
        r"\{'number': 1, '(direction|report)': \d+\}",
        r"the same as the server's: True",
        r"error [01]\.\d{3} after 40 numbers from 40 people",
        r"a factor of 54\.6, and e\^4 is 54\.6",
    ],
}


def test_each_is_tried() -> None:
    found = {file.stem for file in EXAMPLES.glob("*.py") if "# %%" in file.read_text()}
    assert found == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_it_runs_from_top_to_bottom(name: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")],
        capture_output=True, text=True, env=environment(tmp_path), timeout=120, cwd=tmp_path,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    for sentence in SAYS[name]:
        assert re.search(sentence, ran.stdout), f"{sentence} is not in {ran.stdout}"


@pytest.mark.parametrize("name", SAYS)
def test_every_cell_is_a_cell(name: str) -> None:
    """Check that prose stands in its own cells, and that each cell of code compiles."""
    prose: list[str] = []
    code: list[str] = []
    for cell in re.split(r"^# %%", (EXAMPLES / f"{name}.py").read_text(), flags=re.M)[1:]:
        (prose if cell.startswith(" [markdown]\n") else code).append(cell)
    for cell in prose:
        assert all(line.startswith("#") for line in cell.splitlines()[1:] if line)
    for cell in code:
        compile(cell, name, "exec")
        assert not re.search(r"^# %%", cell, re.M)
    assert len(prose) >= len(code) / 2
