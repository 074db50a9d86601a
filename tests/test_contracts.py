"""The contract on neighbours breaks where it must, and only there."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONFIG = """
[importlinter]
root_package = house
contract_types =
    doors: tests.contracts.Doors

[importlinter:contract:doors]
name = Doors
type = doors
"""
FILES = {
    "__init__.py": "",
    "errors.py": "class Wrong(Exception): ...",
    "kitchen/__init__.py": "from house.kitchen.stove import stove",
    "kitchen/stove.py": "stove = 1",
    "kitchen/pantry/__init__.py": "from house.kitchen.pantry.shelf import jar",
    "kitchen/pantry/shelf.py": "jar = 1",
    "study/__init__.py": "",
    "study/desk.py": "",
}


def lint(folder: Path, module: str, planted: str) -> subprocess.CompletedProcess[str]:
    """Build a house in which one module imports something, and look at its doors."""
    for name, text in {**FILES, module: planted}.items():
        file = folder / "house" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / ".importlinter").write_text(CONFIG)
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("study/desk.py", "from house.kitchen.stove import stove"),
        ("study/desk.py", "import house.kitchen.stove"),
        ("study/desk.py", "from ..kitchen.stove import stove"),
        ("study/__init__.py", "from house.kitchen.pantry.shelf import jar"),
        ("kitchen/stove.py", "from house.kitchen.pantry.shelf import jar"),
        ("errors.py", "def late():\n    from house.kitchen.stove import stove"),
    ],
)
def test_a_deep_import_is_found(tmp_path: Path, module: str, planted: str) -> None:
    ran = lint(tmp_path, module, planted)
    assert "Doors BROKEN" in ran.stdout, ran.stderr
    assert ran.returncode == 1
    importer = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    assert f"house.{importer}:{planted.count(chr(10)) + 1}: " in ran.stdout


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("study/desk.py", "from house.kitchen import stove"),
        ("study/desk.py", "from house.kitchen.pantry import jar"),
        ("study/desk.py", "import house.kitchen.pantry"),
        ("study/desk.py", "from house.errors import Wrong"),
        ("kitchen/stove.py", "from house.kitchen.pantry import jar"),
        ("kitchen/pantry/shelf.py", "from house.kitchen.stove import stove"),
        ("kitchen/pantry/__init__.py", "from house.kitchen.stove import stove"),
    ],
)
def test_a_door_may_be_used(tmp_path: Path, module: str, planted: str) -> None:
    ran = lint(tmp_path, module, planted)
    assert "Doors KEPT" in ran.stdout, ran.stdout + ran.stderr
    assert ran.returncode == 0
