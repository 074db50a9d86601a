"""What a module shows to others is what it says it shows."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import crowdml

ROOT = Path(crowdml.__file__).parent
FILES = sorted(file for file in ROOT.rglob("*.py") if "migrations" not in file.parts)


def imports(file: Path) -> Iterator[tuple[str, str]]:
    """Every (module, name) that a file takes from another module of the package."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crowdml"):
            assert node.module is not None
            yield from ((node.module, alias.name) for alias in node.names)


def hidden(module: str, name: str) -> bool:
    """Whether the module does not say that it shows this name; its own modules need no saying."""
    home = importlib.import_module(module)
    parts = [part.name for part in pkgutil.iter_modules(getattr(home, "__path__", []))]
    return name not in parts and name not in getattr(home, "__all__", ())


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_is_imported_is_shown(file: Path) -> None:
    found = [f"{name} of {module}" for module, name in imports(file) if hidden(module, name)]
    assert not found, f"add to __all__: {', '.join(found)}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_is_shown_is_sorted_and_there(file: Path) -> None:
    name = ".".join(["crowdml", *file.relative_to(ROOT).with_suffix("").parts])
    if name.endswith("__main__"):
        return
    module = importlib.import_module(name.removesuffix(".__init__"))
    shown = getattr(module, "__all__", [])
    assert len(set(shown)) == len(shown)
    assert all(hasattr(module, each) for each in shown)


def test_a_name_that_is_not_shown_is_found() -> None:
    assert hidden("crowdml.errors", "Any")
    assert not hidden("crowdml.errors", "CrowdmlError")
    assert not hidden("crowdml", "privacy")
