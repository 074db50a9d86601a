"""Check that everything people read is in plain words: code, tests, documents, pages, catalogues.

The terms are those of CONTRIBUTING.md, section "Words". `python -m tests.test_words crowdml docs`
lists the findings in some folders or files alone.
"""

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ["crowdml", "tests", "docs", "examples", "benchmarks", "experiments", ".github"]
ENDINGS = [
    ".c", ".css", ".html", ".jinja2", ".js", ".md", ".mjs", ".py", ".service", ".toml", ".ts",
    ".yaml", ".yml",
]  # fmt: skip
TOP = ["CITATION.cff", "Makefile", "package.json", "pyproject.toml"]
NAMES = {"Dockerfile", "crowdml"}
"""Files without an ending; the script for Termux has the name of the program."""

LEFT_OUT = {"test_names.py", "test_words.py"}
"""Both list the words that they forbid."""

PHRASES = {
    r"so many": "the number's name, or `at most N`, `N of them`",
    r"so long(?! as)": "the duration's name, or `for N seconds`",
    r"that of": "the noun again: `the error of …`",
    r"this one": "the noun again: `this process`",
    r"those who": "`people who`, `devices that`",
    r"whom?ever": "the noun: `anyone who`, `the participant who`",
    r"for ever": "`always`, `forever` or the time",
    r"(?<!here )is no (?!longer|more|less|other|\w+er than)\w+": "`is not a …`, or what it is",
    r"all that": "`everything that`, or the noun: `all files that`",
    r"in all(?= ?(?:[.,;:!?)\"'`]|$)| (?:and|for|or)\b)|(?:loses?|lost) in all": "`in total`",
    r"what (?:was|were|is|has been|had been|it) told": "`what was sent`",
    r"(?:devices?|payloads?|check-ins?|messages?|mechanisms?) (?:tells?|told)": "`send`",
    r"(?:all|any|no|of|with|without|exact) chance(?! of| that| to)": "`randomness`, `random`",
    r"chance (?:changes|decides|has|hides|made|makes)": "`at random`, `is random`",
    r"say `?(?:--\w+|crowdml|make|pip)": "`run`, `use`",
    r"mend(?:s|ed|ing)?": "`fix`",
    r"heed(?:s|ed|ing)?": "`follow`, `obey`",
    r"(?<!\.)wish(?:es|ed)?": "`want`, or the noun: `request`",
    r"(?:had|have|has) it that": "`says`",
    r"to be had": "`available`",
    r"of (?:its|their|his|her|our|your) own accord": "`by itself`",
    r"shown? out": "`disconnect`",
    r"by and by": "`gradually`",
    r"in vain": "`without success`",
    r"aught|naught|thereof|therein|hitherto|whence|thence|hither|thither|lest": "a word of today",
}
"""Phrases that make readers stop, and what to write instead."""

TERMS = {
    r"(?<!, )checkins?(?!, \w+, | \|)": "`check-in`",
    r"(?<!git )checkouts?": "`check-out`",
    r"(?:an?|the|each|every|one|per) check (?:in|out)": "`check-in`, `check-out`",
    r"datasets?(?! =)": "`data set`",
    r"mini[- ]batch(?:es)?": "`minibatch`",
    r"snap-shots?": "`snapshot`",
    r"out-box(?:es)?": "`outbox`",
    r"(?:a|the|its|each) standin": "`stand-in`",
    r"learned": "`learnt`",
    r"(?-i:Javascript|Java Script)": "`JavaScriptProgram`",
    r"(?-i:PostgreSql|Postgresql)": "`PostgreSQL`",
    r"pseudorandom": "`pseudo-random`",
    r"randomiz\w+": "`randomise`",
}
"""One spelling for each term. Names in code have no hyphen, so they are left out."""


class Finding(NamedTuple):
    """A phrase in a file."""

    file: str
    line: int
    phrase: str
    instead: str

    @property
    def key(self) -> tuple[str, str]:
        """The name of the finding in the allow-list, without the line, which changes too often."""
        return self.file, self.phrase

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: “{self.phrase}”: write {self.instead}"


ALLOWED: dict[tuple[str, str], str] = {("pyproject.toml", "datasets"): "the name of a room"}
"""Phrases that may stay in a file, each with the reason. An entry that is not needed fails."""

HIDDEN = "\0"
"""Stands in place of code and between paragraphs: no phrase goes across it."""

EDGES = ' \t#*>|/;+-"\\'

CODE = re.compile(
    r"```.*?```|`[^`]*`|\]\([^)]*\)|<[^>]*>|\{[{%].*?[}%]\}|>>>[^\n]*|--?\w+|^ +\w+: "
    r"|@\w+(?: \{+[^}]*\}+)?(?: \S+)?|[^\s`]*[/_.=({\[][^\s`]*\w",
    re.DOTALL | re.MULTILINE,
)
"""Names and addresses within prose."""

SLASHED = re.compile(r"/\*.*?\*/|(?<![:\w])//[^\n]*", re.DOTALL)
"""Comments of JavaScript, C and style sheets."""

DOCUMENTS = r'[rbf]?"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""|#[^\n]*'
LITERALS = re.compile(rf"""{DOCUMENTS}|[rbf]?"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.DOTALL)
"""Comments and strings of Python."""


def _any_of(phrases: dict[str, str]) -> re.Pattern[str]:
    """Find any of these phrases; the number of the group is the number of the phrase."""
    return re.compile(rf"\b(?=\w)(?:{'|'.join(f'({each})' for each in phrases)})(?!\w)", re.I)


ANY_PHRASE, ANY_TERM = _any_of(PHRASES), _any_of(TERMS)


def hidden(code: str) -> str:
    """Replace code by a mark on each of its lines."""
    return re.sub(r"[^\n]*\S[^\n]*", HIDDEN, code)


def only(found: Iterable[re.Match[str]], text: str) -> str:
    """Hide everything but these stretches of a text."""
    kept, end = [], 0
    for each in found:
        kept += [hidden(text[end : each.start()]), each[0]]
        end = each.end()
    return "".join([*kept, hidden(text[end:])])


def documents(found: re.Match[str]) -> bool:
    """Decide whether a literal of Python is a comment or a docstring."""
    begins_line = not found.string[: found.start()].rpartition("\n")[2].strip()
    return found[0][0] == "#" or ('"""' in found[0][:4] and begins_line)


def prose_of(name: str, text: str, docs_only: bool) -> str:
    """Hide what is not prose, or what is not documentation. The lines stay where they are."""
    ending = Path(name).suffix
    if ending == ".py":
        found = LITERALS.finditer(text)
        text = only(filter(documents, found) if docs_only else found, text)
    elif docs_only and ending in {".c", ".css", ".js", ".mjs", ".ts"}:
        text = only(SLASHED.finditer(text), text)
    return CODE.sub(lambda found: hidden(found[0]), text) if docs_only else text


class Flat:
    """Prose in one line, so that a phrase is found where a line ends within it."""

    def __init__(self, prose: str) -> None:
        lines = [_bare(line) for line in prose.split("\n")]
        self._text = " ".join(lines)
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]

    def search(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
        """Find a pattern, and the numbers of the lines."""
        for found in pattern.finditer(self._text):
            yield bisect_right(self._starts, found.start()), found


def _bare(line: str) -> str:
    """Remove what begins or ends a line of a comment, a quotation or a text of several literals."""
    return line.strip(EDGES).removeprefix('f"').removesuffix("\\n") or HIDDEN


def findings_in(name: str, text: str) -> Iterator[Finding]:
    """Find what is not plain in the text of a file; its name says how the text is read."""
    flat = Flat(text)
    for phrases, pattern in ((PHRASES, ANY_PHRASE), (TERMS, ANY_TERM)):
        # Finding the prose takes long, and most files have nothing to find.
        if next(flat.search(pattern), None):
            prose = Flat(prose_of(name, text, docs_only=phrases is TERMS))
            for line, found in prose.search(pattern):
                instead = list(phrases.values())[(found.lastindex or 0) - 1]
                yield Finding(name, line, found[0], instead)


def files(*places: str) -> Iterator[Path]:
    """List the texts of the project that are in these folders, or are these files."""
    for place in places:
        path = ROOT / place
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            readable = file.suffix in ENDINGS or file == path or file.name in NAMES
            if readable and file.name not in LEFT_OUT:
                yield file


def findings(*places: str) -> list[Finding]:
    """Find what is not plain in these folders and files."""
    found: list[Finding] = []
    for file in files(*places):
        found += findings_in(file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8"))
    return found


def test_everything_is_in_plain_words() -> None:
    found = findings(*(file.name for file in ROOT.glob("*.md")), *TOP, *FOLDERS)
    mistakes = [str(each) for each in found if each.key not in ALLOWED]
    assert not mistakes, "\n" + "\n".join(mistakes)
    assert ALLOWED.keys() <= {each.key for each in found}, "an exception is not needed any more"
    assert len(ALLOWED) <= 12, "write plainly instead of adding exceptions"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.py", '"""At most so\n    many."""', ["a.py:1: “so many”"]),
        ("a.py", "x = 1  # what it was\n# is that\n# of yesterday", ["a.py:2: “that of”"]),
        ("a.py", 'raise E(\n    f"a chair is "\n    "no table."\n)', ["a.py:2: “is no table”"]),
        ("a.py", "any(x in all for x in y if x is no)", []),
        ("a.py", "checkin = 1  # Send a checkin.", ["a.py:1: “checkin”"]),
        ("a.py", 'x = "checkin"', []),
        ("a.py", '"""Read `checkin` from /v1/checkins."""', []),
        ("a.js", "const checkin = 1; // a checkin", ["a.js:1: “checkin”"]),
        ("a.c", "long checkins; /* their wish */", ["a.c:1: “wish”"]),
        ("a.js", 'fail("not " +\n  "this " +\n  "one.")', ["a.js:2: “this one”"]),
        ("a.css", "/* so many */ a { content: 'so' }", ["a.css:1: “so many”"]),
        ("a.html", "<p>Say\n  <code>--yes</code></p>", []),
        ("a.md", "Then say `--yes`.", ["a.md:1: “say `--yes”"]),
        ("a.md", "Send a\n\ncheckin, `checkins`\n", ["a.md:3: “checkin”"]),
        ("a.md", "ε is 4\nin all.", ["a.md:2: “in all”"]),
        ("a.toml", "# what a person loses in all\nbatch = 1", ["a.toml:1: “loses in all”"]),
        ("a.md", "In all tabs there is no model.", []),
        ("a.md", "Many so\n\nmany", []),
        ("a.toml", '"Whoever asks" = "Wer fragt"', ["a.toml:1: “Whoever”"]),
    ],
)
def test_the_check_finds_phrases(name: str, text: str, expected: list[str]) -> None:
    assert [str(each).partition(": write ")[0] for each in findings_in(name, text)] == expected


if __name__ == "__main__":
    print(*findings(*sys.argv[1:]), sep="\n")
