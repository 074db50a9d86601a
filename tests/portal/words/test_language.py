"""Every text of the pages in every language: none is missing, none is left over."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from crowdml import portal
from crowdml.models import MODELS
from crowdml.optim import OPTIMIZERS
from crowdml.portal.words.language import LANGUAGES, PHRASES, catalogue
from crowdml.protocol import PROBLEMS, SUMMARY

PORTAL = Path(portal.__file__).parent
PACKAGE = PORTAL.parent
WEB = PORTAL.parent / "web"
ENVIRONMENT = Environment()
OTHERS = pytest.mark.parametrize("language", [name for name in LANGUAGES if name != "en"])
NAMES = re.compile(r"\{(\w+)")
READ = {
    ("phrase.py", "separator.join((f'{{{name}}}' for name in values))"),
    ("phrase.py", "template"),
    ("portal/words/language.py", "text"),
    ("server/database/owners.py", "action"),
}
"""Templates without words, and templates that are read from storage, where they were constants."""

LITERAL = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
TEMPLATE = re.compile(rf"{LITERAL}(?:\s*\+\s*{LITERAL})*")
CLASS = re.compile(r"class (\w+) extends (\w+)")
MADE_OF_VALUES = {
    "LEFT_SENTENCE.template": set[str](),
    "ended": set[str](),
    "outcome": set(re.findall(r': "([^"]+)"', (WEB / "device" / "outcome.js").read_text())),
    "String(": set[str](),
    "template": set[str](),
    "text": set[str](),
}
"""What sentences in JavaScript are made of that are not literals, and the texts that it can be."""


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


def strings() -> Iterator[str]:
    """Yield every string of the package, because some texts are said from lists."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def phrases() -> Iterator[tuple[str, ast.Call, list[str]]]:
    """Every `Phrase` that the package makes: where, the call, and the templates it can have."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ast.parse(path.read_text())
        for call in ast.walk(module):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Phrase":
                file, first = str(path.relative_to(PACKAGE)), call.args[0]
                if (file, ast.unparse(first)) not in READ:
                    place = f"{file}:{call.lineno}"
                    yield place, call, list(templates(first, module, place))


def templates(node: ast.expr, module: ast.Module, place: str) -> Iterator[str]:
    """The texts that an expression can be: constants, named ones and conditional ones."""
    constants = {
        ast.unparse(each.targets[0]): each.value
        for each in module.body
        if isinstance(each, ast.Assign)
    }
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp():
            yield from templates(node.body, module, place)
            yield from templates(node.orelse, module, place)
        case ast.Name() if node.id in constants:
            yield from templates(constants[node.id], module, place)
        case _:
            raise AssertionError(f"{place}: a template must be a constant: {ast.unparse(node)}")


def in_javascript() -> Iterator[str]:
    """Yield every template of the browser's device and pages."""
    scripts = [path.read_text() for path in [*WEB.rglob("*.js"), *PORTAL.glob("static/*.js")]]
    errors = {"CrowdmlError"}
    for _ in range(3):
        errors |= {name for text in scripts for name, base in CLASS.findall(text) if base in errors}
    # A rejection carries a phrase that is already made.
    errors -= {"CrowdmlError", "Rejected"}
    makers = re.compile(rf"(?<!function )\b(say|phrase|fail|allow|new (?:{'|'.join(errors)}))\(\s*")
    for script in scripts:
        for maker in makers.finditer(script):
            if literal := TEMPLATE.match(script, maker.end()):
                yield "".join(map(ast.literal_eval, re.findall(LITERAL, literal[0])))
            elif maker[1] != "say":
                rest = script[maker.end() :]
                known = [words for words in MADE_OF_VALUES if rest.startswith(words)]
                assert known, f"no template in {maker[0]}{rest[:60]}"
                yield from MADE_OF_VALUES[known[0]]


@OTHERS
def test_every_text_has_a_translation(language: str) -> None:
    known = catalogue(language)
    missing = [text for text in {*in_templates(), *in_python()} if text not in known]
    assert not missing


@OTHERS
def test_every_phrase_has_a_translation_and_no_other_is_left(language: str) -> None:
    known = catalogue(language, *PHRASES).keys()
    said = {text for *_, texts in phrases() for text in texts}
    said |= catalogue(language, "sensors").keys() & set(in_javascript())
    missing, left_over = said - known, known - said
    assert not missing
    assert not left_over


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('Phrase("a")', {"a"}),
        ('Phrase("a " "b" if x else ("c" if y else "d"))', {"a b", "c", "d"}),
        ('t = "a" if x else "b"\nPhrase(t, n=1)', {"a", "b"}),
    ],
)
def test_templates_are_found(source: str, found: set[str]) -> None:
    module = ast.parse(source)
    (call,) = (each for each in ast.walk(module) if isinstance(each, ast.Call))
    assert set(templates(call.args[0], module, "here")) == found


@pytest.mark.parametrize("source", ['Phrase(f"a {n}")', 'Phrase("a" + b)', "Phrase(unknown)"])
def test_templates_are_constants(source: str) -> None:
    (statement,) = ast.parse(source).body
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    with pytest.raises(AssertionError, match=r"^here: "):
        list(templates(statement.value.args[0], ast.parse(source), "here"))


def test_every_value_of_a_phrase_has_its_name() -> None:
    """A name that its template lacks, or the other way round, would fail only when it is said."""
    for place, call, texts in phrases():
        names = {keyword.arg for keyword in call.keywords}
        for text in texts:
            assert set(NAMES.findall(text)) == names, place


@OTHERS
def test_every_name_has_a_translation(language: str) -> None:
    """Those that pages take from lists of kinds and levels, so that no call names them."""
    names = {kind.words for registry in (MODELS, OPTIMIZERS) for kind in registry.values()}
    names |= {problem.title for problem in PROBLEMS.values()}
    assert not names - catalogue(language).keys()


@OTHERS
def test_every_text_of_the_browser_has_a_translation(language: str) -> None:
    texts = set(in_javascript()) - {""}
    known = catalogue(language, "browser").keys()
    assert not texts - catalogue(language, "browser", "numbers", "promise", "sensors").keys(), (
        "missing"
    )
    assert not known - texts, "left over"


@OTHERS
def test_no_text_of_the_pages_is_left_over_or_translated_twice(language: str) -> None:
    texts = {*strings(), *in_templates(), ", ".join(SUMMARY)}
    texts |= {
        f"{{n}} {what}{s}"
        for what in ("check-in", "device", "percentage point", "sample")
        for s in ("", "s")
    }
    files = [file.stem for file in (PORTAL / "languages" / language).glob("*.toml")]
    for file in {*files} - {*PHRASES, "browser"}:
        own = catalogue(language, file)
        others = catalogue(language, *sorted({*files} - {file}))
        assert not own.keys() - texts, f"left over in {file}.toml"
        twice = [text for text in own if own[text] == others.get(text)]
        assert not twice, f"in {file}.toml and in another file"


@OTHERS
def test_translations_name_the_same_values(language: str) -> None:
    for text, said in catalogue(language).items():
        assert sorted(set(NAMES.findall(text))) == sorted(set(NAMES.findall(said))), text


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (r"\b(die|der|den) Vielen\b", "die Gruppe"),
        (r"fünfzig zu fünfzig", "50:50"),
        (r"\b[Gg]ehen und\b|\b[Gg]egangen\b|\b[Gg]inge\b", "aussteigen"),
        (r"\bauf ± ", "Prozentpunkte"),
        (r"\bBeispiele?[ns]?\b(?!: von)|\bProben?\b", "Messung"),
        (r"\bPiloten?\b|\bStart(punkt|wert)", "Vorstudie, Startmodell"),
        (r"\.\.(?!\.)", "one full stop"),
    ],
)
def test_german_has_one_word_for_one_thing(words: str, instead: str) -> None:
    wrong = [said for said in catalogue("de").values() if re.search(words, str(said))]
    assert not wrong, f"say {instead}"
