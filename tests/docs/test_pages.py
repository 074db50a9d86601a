"""Links lead somewhere, names mean something, and the house has the rooms that its plan shows."""

import importlib
import pkgutil
import re

import pytest

import crowdml
from tests.docs.pages import PAGES, ROOT, inline, page, table_rows


@pytest.mark.parametrize("name", PAGES)
def test_relative_links(name: str) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", page(name))
    missing = [
        link
        for link in links
        if not re.match(r"[a-z]+:", link)
        and not ((ROOT / name).parent / link.partition("#")[0]).exists()
    ]
    assert not missing


@pytest.mark.parametrize("name", PAGES)
def test_files_that_are_named(name: str) -> None:
    named = [text for text in inline(page(name)) if re.fullmatch(r"[\w/]+/[\w.]+\.(py|md)", text)]
    to_write = re.findall(r"Write\s+`([^`]+)`:", page(name))
    missing = [
        text
        for text in named
        if not (ROOT / text).exists() and not (ROOT / "crowdml" / text).exists()
    ]
    assert set(missing) <= set(to_write)


@pytest.mark.parametrize("name", PAGES)
def test_names_of_the_package(name: str) -> None:
    for text in inline(page(name)):
        if re.fullmatch(r"crowdml(\.\w+)+", text) and not text.endswith((".db", ".toml")):
            importlib.import_module("crowdml")
            assert pkgutil.resolve_name(text) is not None


def test_the_public_names() -> None:
    assert crowdml.__all__ == sorted(crowdml.__all__)
    for name in set(crowdml.__all__) - {"__version__"}:
        assert getattr(crowdml, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = crowdml.nonsense


def test_the_plan_shows_every_room() -> None:
    rooms = {module.name for module in pkgutil.iter_modules(crowdml.__path__)} - {"__main__"}
    ladder = page("ARCHITECTURE.md").partition("## The ladder")[2].partition("\n## ")[0]
    shown = {name for cells in table_rows(ladder) for name in re.findall(r"`(\w+)`", cells[0])}
    assert shown == rooms
