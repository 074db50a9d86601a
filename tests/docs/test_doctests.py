"""Run the examples in docstrings.

pytest's own collection would import every module of the package in each of its processes.
"""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [file for file in sorted((ROOT / "crowdml").rglob("*.py")) if ">>> " in file.read_text()]
MODULES = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for file in FILES
]


def test_many_modules_have_examples() -> None:
    assert len(MODULES) > 100


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(name)
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert found.attempted
    assert not found.failed, capsys.readouterr().out
