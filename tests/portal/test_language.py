"""Every text of the pages in every language: none is missing, none is left over."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from crowdml import portal
from crowdml.portal import words
from crowdml.portal.language import LANGUAGES, catalogue
from crowdml.protocol import PROBLEMS

PORTAL = Path(portal.__file__).parent
WEB = PORTAL.parent / "web" / "page"
ENVIRONMENT = Environment()
OTHERS = pytest.mark.parametrize("language", [name for name in LANGUAGES if name != "en"])
NAMES = re.compile(r"\{(\w+)")
SAID = re.compile(r'\bsay\(\s*("(?:[^"\\]|\\.)*")')


def in_templates() -> Iterator[str]:
    for path in sorted(PORTAL.rglob("*.html")):
        for call in ENVIRONMENT.parse(path.read_text()).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name == "_":
                found = [call.args[0], *call.args[0].find_all(nodes.Const)]
                values = [each.value for each in found if isinstance(each, nodes.Const)]
                yield from (value for value in values if isinstance(value, str))


def in_python() -> Iterator[str]:
    for path in sorted(PORTAL.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "say":
                whole = isinstance(call.args[0], ast.Constant)
                for each in ast.walk(call.args[0]):
                    if isinstance(each, ast.Constant) and (
                        whole or " " in str(each.value).strip("{} ")
                    ):
                        yield str(each.value)


def in_javascript() -> Iterator[str]:
    for path in [*sorted(WEB.glob("*.js")), *sorted((PORTAL / "static").glob("*.js"))]:
        yield from (ast.literal_eval(text) for text in SAID.findall(path.read_text()))


@OTHERS
def test_every_text_has_a_translation(language: str) -> None:
    known = catalogue(language)
    missing = [text for text in {*in_templates(), *in_python()} if text not in known]
    assert not missing


@OTHERS
def test_every_name_has_a_translation(language: str) -> None:
    """Those that pages take from lists of kinds and levels, so that no call names them."""
    names = {*words.SENSORS.values(), *words.MODELS.values(), *words.ALGORITHMS.values()}
    names |= {problem.title for problem in PROBLEMS.values()}
    assert not names - catalogue(language).keys()


@OTHERS
def test_every_text_of_the_browser_has_a_translation(language: str) -> None:
    missing = [text for text in set(in_javascript()) if text not in catalogue(language, "browser")]
    assert not missing


@OTHERS
def test_translations_name_the_same_values(language: str) -> None:
    for text, said in catalogue(language).items():
        assert sorted(set(NAMES.findall(text))) == sorted(set(NAMES.findall(said))), text
