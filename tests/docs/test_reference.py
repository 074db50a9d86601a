"""The reference of the Python package: built, with no dead link, and worth reading."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import unquote, urljoin, urlsplit

import pytest

import crowdml
from docs.reference import modules
from tests.docs.pages import ROOT


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Every page by its path, without its scripts."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-W", "error::UserWarning", "docs/reference.py", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {
        str(file.relative_to(folder)): re.sub(r"(?s)<script>.*?</script>", "", file.read_text())
        for file in folder.rglob("*.html")
    }


def test_every_public_name_has_its_place(pages: dict[str, str]) -> None:
    assert set(pages) == {"index.html", *(f"{name.replace('.', '/')}.html" for name in modules())}
    shown = [(module, name) for module in modules() for name in _names(module)]
    for module, name in shown:
        if name != "__version__":
            assert f'id="{name}"' in pages[f"{module.replace('.', '/')}.html"], (module, name)


def test_every_link_leads_somewhere(pages: dict[str, str]) -> None:
    places = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in pages.items()}
    dead = [(path, link) for path, link in _links(pages) if not _leads(path, link, places)]
    assert not dead


def _names(module: str) -> list[str]:
    return list(importlib.import_module(module).__all__)


def _links(pages: dict[str, str]) -> Iterator[tuple[str, str]]:
    for path, text in pages.items():
        yield from ((path, link) for link in re.findall(r'\bhref="([^"]+)"', text))


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
        for told in re.findall(r"`(crowdml(?:\.\w+)+)`", words):
            assert pkgutil.resolve_name(told) is not None


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
