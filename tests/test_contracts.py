"""Check that the contract on neighbours breaks where it must, and only there."""

from pathlib import Path

import grimp
import pytest

from tests.contracts import PackageImports

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


def deep_imports(folder: Path, module: str, planted: str) -> list[str]:
    """Build packages in which one module imports something, and return the forbidden imports."""
    for name, text in {**FILES, module: planted}.items():
        file = folder / "house" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    contract = PackageImports("PackageImports", {}, {})
    found = contract.check(grimp.build_graph("house", cache_dir=None), verbose=False)
    assert found.kept == (not found.metadata["deep"])
    return list(found.metadata["deep"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


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
def test_a_deep_import_is_found(folder: Path, module: str, planted: str) -> None:
    (found,) = deep_imports(folder, module, planted)
    importer = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    assert found.startswith(f"house.{importer}:{planted.count(chr(10)) + 1}: ")


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
def test_a_door_may_be_used(folder: Path, module: str, planted: str) -> None:
    assert deep_imports(folder, module, planted) == []


@pytest.mark.xdist_group("contracts")
def test_groups_of_tests_are_known_to_the_scheduler(request: pytest.FixtureRequest) -> None:
    """Check that the scheduler knows the groups.

    Without groups every process starts the servers that one process could share.
    """
    if getattr(request.config.option, "loadgroup", False):
        assert request.node.nodeid.endswith("@contracts")
