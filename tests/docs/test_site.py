"""Build the site and check its pages, links and search, and the docstrings of its reference."""

import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from urllib.parse import unquote, urljoin, urlsplit

import pytest

import crowdml
from docs.reference import modules
from docs.site import SECTIONS, Page
from tests.docs.pages import PAGES, ROOT


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Build the site and return its text files by path, without scripts."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-W", "error::UserWarning", "-m", "docs.site", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {
        str(file.relative_to(folder)): re.sub(
            r"(?s)<script>.*?</script>", "", file.read_text(errors="replace")
        )
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_every_public_name_has_its_place(pages: dict[str, str]) -> None:
    addresses = {name: f"reference/{name.replace('.', '/')}.html" for name in modules()}
    assert {"reference/index.html", *addresses.values()} == {
        path for path in pages if re.match(r"reference/.*\.html", path)
    }
    shown = [(module, name) for module in modules() for name in _names(module)]
    for module, name in shown:
        if name != "__version__":
            assert f'id="{name}"' in pages[addresses[module]], (module, name)


def test_every_document_is_in_the_menu(pages: dict[str, str]) -> None:
    menu = {source for sources in SECTIONS.values() for source in sources}
    assert {name for name in PAGES if re.fullmatch(r"(docs/)?[\w-]+\.md", name)} <= menu
    for source in menu:
        assert "<h1 id=" in pages[Page(source).path], source


def test_the_readme_groups_pages_as_the_menu_does() -> None:
    steps = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Next steps")[2]
    found: dict[str, list[str]] = {"Start": ["README.md"]}
    for row in re.findall(r"^\| ([A-Z].*?) \| (.*) \|$", steps, re.MULTILINE):
        kind = next(name for name in SECTIONS if row[0].startswith(name))
        found.setdefault(kind, []).extend(re.findall(r"\]\(([^)]+)\)", row[1]))
    assert found == SECTIONS


@pytest.mark.parametrize("source", sorted(name for name in PAGES if name.startswith("docs/")))
def test_a_page_begins_with_what_it_gives(source: str) -> None:
    """Check that prose follows the title: no heading, table, list, code or picture."""
    title, below, *_ = (ROOT / source).read_text(encoding="utf-8").split("\n\n")
    assert re.fullmatch(r"# .*", title)
    assert not re.match(r"[#|>!<-]|```|\d+\. |    ", below), below
    assert len(re.findall(r"[.?!](?=\s|$)", below)) >= 1, below


def test_nothing_comes_from_elsewhere(pages: dict[str, str]) -> None:
    for path, text in pages.items():
        if path.endswith((".html", ".css")):
            loads = r'<(?:link|script|img|iframe)[^>]+(?:href|src)="(?:https?:)?//|url\(["\']?http'
            assert not re.search(loads, text), path


def test_the_search_leads_somewhere(pages: dict[str, str]) -> None:
    entries = json.loads(pages["search-index.js"].partition(" = ")[2].rstrip(";\n"))
    places = _places(pages)
    assert [address for address, *_ in entries if not _leads("", address, places)] == []
    assert {"crowdml.Device", "How to prepare a CSV file"} <= {heading for _, heading, _ in entries}


def test_every_link_leads_somewhere(pages: dict[str, str]) -> None:
    places = _places(pages)
    dead = [(path, link) for path, link in _links(pages) if not _leads(path, link, places)]
    assert not dead


def _names(module: str) -> list[str]:
    return list(importlib.import_module(module).__all__)


def _places(pages: dict[str, str]) -> dict[str, set[str]]:
    return {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in pages.items()}


def _links(pages: dict[str, str]) -> Iterator[tuple[str, str]]:
    for path, text in pages.items():
        if path.endswith(".html"):
            found = re.findall(r'\b(?:href|src)="([^"]+)"', text)
            yield from ((path, unescape(link)) for link in found)


def _leads(path: str, link: str, places: dict[str, set[str]]) -> bool:
    if re.match(r"https?:|data:", link):
        return True
    parts = urlsplit(urljoin(path, link))
    anchor = unquote(parts.fragment)
    return parts.path in places and (not anchor or anchor in places[parts.path])


@pytest.mark.parametrize("module", modules())
def test_what_is_public_says_what_it_is(module: str) -> None:
    home = importlib.import_module(module)
    shown = {name: getattr(home, name) for name in home.__all__}
    for name, value in {"": home, **shown}.items():
        if name and not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        words = (vars(value)["__doc__"] if inspect.isclass(value) else value.__doc__) or ""
        assert len(words.split()) >= 3, f"{module}.{name} has no docstring to speak of"
        assert not words.startswith(f"{name}("), f"{module}.{name}: fields say nothing"
        for name in re.findall(r"`(crowdml(?:\.\w+)+)`", words):
            assert pkgutil.resolve_name(name) is not None


@pytest.mark.parametrize("name", sorted(set(crowdml.__all__) - {"__version__"}))
def test_every_method_at_the_front_door(name: str) -> None:
    shown = getattr(crowdml, name)
    silent = [
        method
        for method, value in vars(shown).items()
        if not method.startswith("_")
        and (isinstance(value, property | classmethod) or inspect.isfunction(value))
        and not inspect.getdoc(getattr(shown, method))
    ]
    assert not silent


def test_a_dead_link_is_found() -> None:
    places = {"crowdml.html": {"Device"}, "crowdml/models.html": {"Ridge"}}
    assert _leads("crowdml.html", "crowdml/models.html#Ridge", places)
    assert _leads("crowdml/models.html", "../crowdml.html#Device", places)
    assert not _leads("crowdml.html", "#Ridge", places)
    assert not _leads("crowdml.html", "crowdml/nowhere.html", places)
