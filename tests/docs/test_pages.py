"""Links lead somewhere, names mean something, and the house has the rooms that its plan shows."""

import importlib
import pkgutil
import re

import pytest

import crowdml
from tests.docs.pages import PAGES, ROOT, inline, page, table_rows


@pytest.mark.parametrize("name", PAGES)
def test_relative_links(name: str) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", page(name))
    missing = [link for link in map("".join, links) if not _leads(name, link)]
    assert not missing


def _leads(name: str, link: str) -> bool:
    """Whether a link on a page leads to a file, and to a heading of it if it names one."""
    path, _, anchor = link.partition("#")
    if re.match(r"[a-z]+:", link):
        return True
    target = (ROOT / name).parent / path if path else ROOT / name
    if not target.exists() or not anchor:
        return target.exists()
    return anchor in _headings(target.read_text(encoding="utf-8"))


def _headings(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    found = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_a_link_to_nowhere_is_found() -> None:
    assert _leads("README.md", "docs/privacy.md")
    assert _leads("README.md", "#two-commands")
    assert not _leads("README.md", "docs/nowhere.md")
    assert not _leads("README.md", "docs/privacy.md#nowhere")


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
