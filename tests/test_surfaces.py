"""Check that a module shows to others exactly what it says it shows."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

import crowdml

ROOT = Path(crowdml.__file__).parent
FILES = sorted(file for file in ROOT.rglob("*.py") if "migrations" not in file.parts)


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def imports(file: Path) -> Iterator[tuple[str, str]]:
    """Return every (module, name) that a file imports from another module of the package."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crowdml"):
            assert node.module is not None
            yield from ((node.module, alias.name) for alias in node.names)


def defined(module: str) -> set[str]:
    """Return the names that a module itself defines, without those with an underscore."""
    found: set[str] = set()
    for node in ast.parse(inspect.getsource(importlib.import_module(module))).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found |= {part.id for part in ast.walk(node) if stored(part)}
    return {name for name in found if not name.startswith("_")}


def stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def hidden(module: str, name: str, importer: str) -> bool:
    """Decide whether the module hides this name.

    A package, and a module directly in `crowdml`, shows what is in its `__all__`; any other module
    shows what it defines. A package shows its packages to everybody, and its modules to each other.
    """
    home = importlib.import_module(module)
    inside = f"{importer}.".startswith(f"{module}.")
    parts = pkgutil.iter_modules(getattr(home, "__path__", []))
    shown = {part.name for part in parts if part.ispkg or inside}
    listed = getattr(home, "__all__", None)
    return name not in shown | (defined(module) if listed is None else set(listed))


def test_what_is_imported_is_shown() -> None:
    taken = [(module_of(file), *each) for file in FILES for each in imports(file)]
    found = [
        f"{name} of {module}, which {importer} imports"
        for importer, module, name in taken
        if hidden(module, name, importer)
    ]
    assert not found, f"not shown: {', '.join(found)}"


def order(name: str) -> tuple[int, str]:
    """Sort constants, then classes, then functions, as ruff does."""
    return 0 if name.isupper() else 1 if name[:1].isupper() else 2, name


def test_what_is_shown_is_sorted_and_there() -> None:
    for file in FILES:
        if file.name != "__main__.py":
            module = importlib.import_module(module_of(file))
            shown = getattr(module, "__all__", [])
            assert list(shown) == sorted(set(shown), key=order), file
            assert [each for each in shown if not hasattr(module, each)] == [], file


def sentences(text: str) -> list[str]:
    """Return the sentences of a docstring.

    >>> sentences("Say what. Say who calls it.")
    ['Say what.', 'Say who calls it.']
    """
    return re.split(r"(?<=[.!?])\s+", text.strip())


def test_a_room_says_what_it_holds_and_who_calls_it() -> None:
    rooms = [file for file in FILES if file.name == "__init__.py"]
    short = [
        str(file.parent.relative_to(ROOT.parent))
        for file in rooms
        if len(sentences(ast.get_docstring(ast.parse(file.read_text())) or "")) < 2
    ]
    assert not short, f"need a second sentence in their docstring: {', '.join(short)}"


@pytest.mark.parametrize("name", ["checks", "device", "models", "optim", "privacy", "protocol"])
def test_a_package_says_what_is_public(name: str) -> None:
    assert importlib.import_module(f"crowdml.{name}").__all__


def test_a_name_that_is_not_shown_is_found() -> None:
    assert hidden("crowdml.errors", "Any", "crowdml.cli.app")
    assert not hidden("crowdml.errors", "CrowdmlError", "crowdml.cli.app")
    assert not hidden("crowdml", "privacy", "crowdml.cli.app")
    assert not hidden("crowdml.cli", "output", "crowdml.cli.app")
    assert hidden("crowdml.cli", "output", "crowdml.demo.demo")
    assert not hidden("crowdml.cli.output", "print_lines", "crowdml.cli.app")
    assert hidden("crowdml.cli.output", "visible", "crowdml.cli.app"), "is another module's"
    assert hidden("crowdml.cli.output", "_finite", "crowdml.cli.app")


def test_no_module_takes_the_name_of_what_its_package_shows() -> None:
    """Check for modules named like what their package shows.

    A module that is imported late becomes an attribute of its package, and would replace it.
    """
    for file in FILES:
        if file.name != "__main__.py":
            importlib.import_module(module_of(file))
    for file in FILES:
        if file.name == "__init__.py":
            package = importlib.import_module(module_of(file))
            for module, name in imports(file):
                if name in getattr(package, "__all__", ()):
                    shown = getattr(importlib.import_module(module), name)
                    assert getattr(package, name) is shown, f"{name} of {package.__name__}"


def test_the_package_lists_its_public_names_and_nothing_else() -> None:
    assert dir(crowdml) == crowdml.__all__
