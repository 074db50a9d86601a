"""Test that the report is complete in one file."""

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from crowdml.reproduction import Reproduction, load_plans, write_report

VOID = {"meta", "br", "img", "link", "hr", "input"}
ANALYSES = {"analysis_noise", "analysis_bytes", "analysis_staleness"}


class Balance(HTMLParser):
    """Check that every opened tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("h2", "h3"):
            self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="session")
def folder(found: Reproduction, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(found, tmp_path_factory.mktemp("report") / "new").parent


def test_nothing_is_fetched(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", page)
    assert not re.search(r"url\(\s*['\"]?(?!#)", page)
    assert not re.search(r"<(?:script|link|iframe|img|object)\b", page)
    assert "@import" not in page
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", page))
    assert all(address.startswith("http://www.w3.org/") for address in addresses), addresses


def test_page_is_well_formed_and_complete(folder: Path) -> None:
    parser = Balance()
    parser.feed((folder / "report.html").read_text(encoding="utf-8"))
    assert parser.open == []
    assert parser.ids == [*load_plans(), "analysis", "beyond"]


def test_page_follows_the_readers_colours(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in page
    assert "currentColor" in page
    assert "#1b1f24" not in page
    assert 'name="viewport"' in page


def test_every_figure_is_a_picture(folder: Path) -> None:
    names = set(load_plans()) | ANALYSES | {"beyond"}
    assert {path.stem for path in folder.glob("*.png")} == names
    assert {path.stem for path in folder.glob("*.svg")} == names
    for path in folder.glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")
    for path in folder.glob("*.svg"):
        assert "currentColor" not in path.read_text(encoding="utf-8")


def test_results_hold_all_points(folder: Path) -> None:
    results = msgspec.json.decode((folder / "results.json").read_bytes())
    assert set(results["figures"]) == set(load_plans())
    line = results["figures"]["fig5"]["lines"][0]
    assert len(line["samples"]) == len(line["mean"]) == len(line["std"])
    assert results["trials"] == 1
