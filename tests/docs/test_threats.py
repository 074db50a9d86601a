"""Every test that the threat model names is there, and every adversary has what it should."""

import ast
import re

import pytest

from tests.docs.pages import ROOT, inline, page

THREATS = page("docs/threats.md")
NAMED = sorted({text for text in inline(THREATS) if "::" in text and text.startswith("tests/")})
ADVERSARIES = THREATS.split("\n## ")[1:]


def test_there_are_some() -> None:
    assert len(NAMED) > 20
    assert len(ADVERSARIES) == 6


@pytest.mark.parametrize("named", NAMED)
def test_it_is_there(named: str) -> None:
    file, _, name = named.partition("::")
    found = set()
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.add(node.targets[0].id)
    assert name in found
    assert re.match("test_|Test", name)


@pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda text: text.partition("\n")[0])
def test_what_is_promised_shown_and_not_covered(adversary: str) -> None:
    assert "| promised | shown by |" in adversary
    assert "\nNot covered: " in adversary
