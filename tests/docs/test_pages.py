"""Check the links of all pages, the files and names that they mention, and the list of packages."""

import pkgutil
import re

import pytest

import crowdml
from docs.setups import SETUPS, draw
from tests.docs.pages import PAGES, ROOT, inline, page, table_rows


def test_relative_links() -> None:
    for name in PAGES:
        links = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", page(name))
        assert [link for link in map("".join, links) if not _leads(name, link)] == [], name


def _leads(name: str, link: str) -> bool:
    """Return whether a link leads to a file, and to a heading of the file if it names one."""
    path, _, anchor = link.partition("#")
    if re.match(r"[a-z]+:", link):
        return True
    target = (ROOT / name).parent / path if path else ROOT / name
    if not target.exists() or not anchor:
        return target.exists()
    return anchor in _headings(target.read_text(encoding="utf-8"))


def _headings(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    found = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_a_link_to_nowhere_is_found() -> None:
    assert _leads("README.md", "docs/privacy.md")
    assert _leads("README.md", "#two-commands")
    assert not _leads("README.md", "docs/nowhere.md")
    assert not _leads("README.md", "docs/privacy.md#nowhere")


PATH = re.compile(r"(?:[\w.-]+/)*(?:[\w.-]*\w\.(?:css|html|js|json|md|py|svg|ts)|[\w.-]+/)")
"""Match a source file or a folder; a path that begins with a slash is an address of the server."""

MADE = {line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()}
FILES = {
    str(path.relative_to(ROOT))
    for top in ROOT.iterdir()
    if top.name not in MADE | {".git"}
    for path in (top, *top.rglob("*"))
}


def _missing(text: str) -> list[str]:
    """Return the paths in a text that do not exist.

    A path may begin at any folder: `task.py` stands for every file of that name. Where its
    paragraph names folders, it must be in one of them. Three kinds need not exist: files that the
    reader writes ("Write `path`:"), files that are built (.gitignore has them), and names with a
    part in capitals, which the reader replaces.
    """
    to_write = set(re.findall(r"Write\s+(?:\w+\s+)*`([^`]+)`:", text))
    missing = []
    for paragraph in re.split(r"\n\s*\n", text):
        paths = [path for path in inline(paragraph) if PATH.fullmatch(path)]
        folders = [path for path in paths if path.endswith("/") and _places(path)]
        for path in paths:
            places = _places(path)
            if "/" not in path and folders:
                places = [p for p in places if any(f"/{f}{path}" in f"/{p}" for f in folders)]
            free = (
                path in to_write or path.split("/")[0] in MADE or re.search(r"\b[A-Z]{2,}/", path)
            )
            if not places and not free:
                missing.append(path)
    return missing


def _places(path: str) -> list[str]:
    ending = "/" + path.rstrip("/")
    return [file for file in FILES if f"/{file}".endswith(ending)]


def test_files_that_are_named() -> None:
    missing = {name: _missing(page(name)) for name in PAGES}
    assert {name: paths for name, paths in missing.items() if paths} == {}


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("`crowdml/protocol/task/task.py`, `protocol/task/task.py`, `task.py`", []),
        ("`tests/docs/`, `docs/`", []),
        ("`crowdml/protocol/specs.py` and `specs.py`", ["crowdml/protocol/specs.py", "specs.py"]),
        ("In `crowdml/portal/`: `task.py`.", ["task.py"]),
        ("In `crowdml/portal/`.\n\nThere is `task.py`.", []),
        ("`docs/nowhere/`", ["docs/nowhere/"]),
        ("Write `crowdml/mine.py`:", []),
        ("Write `crowdml/mine.py`: then `crowdml/other.py`:", ["crowdml/other.py"]),
        ("`/device.py`, `site/index.html`, `crowdml/portal/languages/LANGUAGE/below.toml`", []),
    ],
)
def test_a_file_that_does_not_exist_is_found(text: str, missing: list[str]) -> None:
    assert _missing(text) == missing


def test_names_of_the_package() -> None:
    for text in {text for name in PAGES for text in inline(page(name))}:
        if re.fullmatch(r"crowdml(\.\w+)+", text) and not text.endswith(
            (".db", ".record", ".toml")
        ):
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


def test_pictures_of_set_ups_are_current() -> None:
    """Compare with a new drawing; `python docs/setups.py` writes the files."""
    for name, setup in SETUPS.items():
        assert page(f"docs/{name}.svg") == draw(*setup)
