"""Check that every test named in the threat model exists, and that no adversary lacks a part."""

import re

from tests.docs.pages import ROOT, inline, page

THREATS = page("docs/threats.md")
NAMED = sorted({text for text in inline(THREATS) if "::" in text and text.startswith("tests/")})
ADVERSARIES = THREATS.split("\n## ")[1:]


def test_there_are_some() -> None:
    assert len(NAMED) > 20
    assert len(ADVERSARIES) == 6


def test_every_named_test_is_there() -> None:
    for named in NAMED:
        file, _, name = named.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.match("test_|Test", name), named
        assert re.search(rf"^(def |class )?{name}\b(\(|:| = )", text, re.MULTILINE), named


def test_what_is_promised_shown_and_not_covered() -> None:
    for adversary in ADVERSARIES:
        assert "| promised | shown by |" in adversary
        assert "\nNot covered: " in adversary
