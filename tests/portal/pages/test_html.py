"""Pages as they are served: valid, in the reader's language, with what people decide by first."""

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from crowdml.portal.words.language import LANGUAGES, catalogue
from tests.browser.portals import Crowd
from tests.docs.pages import ROOT
from tests.portal.owner_browser import Portal, text_of
from tests.portal.words.test_consent import QUESTIONS
from tests.support.servers import Reply, create, eventually, make_task

MOTION: dict[str, Any] = {"features__sensor.kind": "motion"}
TYPED: dict[str, Any] = {
    "features__count": 2, "target__labels": None, "model__kind": "huber", "model__clip": 1.0,
    "features__sensor.kind": "manual", "features__sensor.transform": "values",
    "features__sensor.fields": ["a", "b"],
}  # fmt: skip
GERMAN = {
    "__title": "Wo ist das Telefon?",
    "__objective": "Aus der Bewegung erkennen, ob das Telefon in der Tasche ist.",
    "target__labels": ["in der Tasche", "in der Hand"],
}
TASKS = [
    make_task("noisy"),
    make_task("sensed", privacy__mechanism="direction", privacy__epsilon=4.0, **MOTION),
    make_task("bare", privacy__epsilon=float("inf"), **MOTION),
    make_task("invited", enrolment__mode="invite", **MOTION),
    make_task("german", **GERMAN, **MOTION),
    make_task("paused", **MOTION),
    make_task("stopped", **MOTION),
    make_task("typed", **TYPED),
    make_task(
        "named",
        features__count=2,
        features__names=["a", "b"],
        features__description="",
        stop__error=0.1,
    ),
]
PUBLIC = ("/", "/?q=zebra", "/privacy", "/program", "/nowhere", "/owner/sign-in")
OWNER = ("/owner", "/owner/new", "/tasks/noisy/card", "/tasks/named/card")
EACH = ("/tasks/{}", "/tasks/{}/join", "/join/{}", "/owner/tasks/{}")
PATHS = [*PUBLIC, *OWNER, *(path.format(task.name) for path in EACH for task in TASKS)]


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    portal = Portal(tmp_path_factory.mktemp("portal"))
    create(portal.database, *TASKS)
    portal.add_owner()
    with portal.start().connected() as wire:
        Crowd(wire, TASKS[0]).check_in(5)
        Crowd(wire, TASKS[-1]).check_in(1)
    with portal.store() as store:
        store.set_task_state("paused", "paused")
        store.set_task_state("stopped", "stopped")
    _wait_until_known(portal, "paused", "stopped")
    yield portal
    assert portal.stop() == 0, portal.output


def _wait_until_known(portal: Portal, *states: str) -> None:
    """Wait until the server has read the states that another process has written."""
    with portal.connected() as wire:
        assert eventually(
            lambda: all(wire.get(f"/v1/tasks/{n}").json()["state"] == n for n in states)
        )


@pytest.fixture(scope="module")
def pages(portal: Portal) -> dict[tuple[str, str], Reply]:
    """Return every page in every language, as an owner gets it."""
    with portal.owner() as browser:
        return {
            (path, language): browser.get(path, **{"accept-language": language})
            for path, language in product(PATHS, LANGUAGES)
        }


def test_every_page_is_valid(pages: dict[tuple[str, str], Reply], tmp_path: Path) -> None:
    """By the standard rules of html-validate."""
    (tmp_path / ".htmlvalidate.json").write_text(
        json.dumps({"root": True, "extends": ["html-validate:standard"]})
    )
    for (path, language), page in pages.items():
        name = re.sub(r"\W", "_", path) or "list"
        (tmp_path / f"{name}.{language}.html").write_bytes(page.body)
    program = ROOT / "node_modules" / ".bin" / "html-validate"
    ran = subprocess.run(
        [program, "--formatter", "json", "*.html"], cwd=tmp_path, capture_output=True, text=True
    )
    found = {
        f"{Path(each['filePath']).name}: {message['ruleId']}: {message['message']}"
        for each in json.loads(ran.stdout)
        for message in each["messages"]
    }
    assert not found
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_task_answers_first(pages: dict[tuple[str, str], Reply], language: str) -> None:
    """The six answers come first, in the words of the page that asks for consent."""
    asked, shown = (_answers(pages[path, language]) for path in ("/join/sensed", "/tasks/sensed"))
    assert all(question in asked for question in QUESTIONS[language])
    assert asked == shown
    page = pages["/tasks/sensed", language].body.decode()
    answers, table = page.index('<dl class="answers'), page.index('<dl class="table">')
    assert page.index('data-live="state"') < page.index("<h1") < answers < table
    assert table < min(map(page.index, ('id="leaves"', 'id="live"', 'id="terms"')))
    assert re.search(r'<details><summary>[^<]*</summary><dl class="table">', page)


def _answers(page: Reply) -> str:
    (found,) = re.findall(r'<dl class="answers.*?</dl>', page.body.decode(), re.S)
    return str(found)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("task", "words"),
    [
        (
            "paused",
            "The task is paused by its owner: you can join, and your samples wait on your device.",
        ),
        ("stopped", "This task has ended, so no one can join it any more."),
    ],
)
def test_a_state_that_matters_stands_before_consent(
    pages: dict[tuple[str, str], Reply], language: str, task: str, words: str
) -> None:
    text = text_of(pages[f"/join/{task}", language])
    said = catalogue(language).get(words, words)
    assert 0 < text.index(said) < text.index(QUESTIONS[language][0])


def test_an_owners_text_in_another_language_is_marked(
    pages: dict[tuple[str, str], Reply],
) -> None:
    for path in ("/tasks/german", "/join/german"):
        english, german = (pages[path, language].body.decode() for language in ("en", "de"))
        assert '<h1 lang="de">' in english
        assert '<span lang="de">in der Tasche, in der Hand</span>' in english
        assert ' lang="' not in re.sub(r'<(html|pre) .*?lang="..".*?>', "", german)
    assert '<h2 lang="de">' in pages["/", "en"].body.decode()
    assert '<div id="labels" class="labels" role="group" aria-labelledby="question" lang="de">' in (
        pages["/join/german", "en"].body.decode()
    )


def test_a_model_card_is_a_page_in_the_readers_language(
    pages: dict[tuple[str, str], Reply],
) -> None:
    promise = TASKS[0].terms.promise
    english, german = (text_of(pages["/tasks/noisy/card", language]) for language in ("en", "de"))
    for sentence in (*promise.what_leaves, *promise.what_is_lost):
        assert str(sentence) in english
    assert "It was learnt from 5 check-ins of 3 devices." in english
    assert "Steckbrief des Modells" in german
    assert "Es kennt nur Menschen, die mitmachen wollten." in german
    assert 'href="/tasks/noisy/card.md"' in pages["/tasks/noisy/card", "de"].body.decode()


@pytest.mark.parametrize("language", LANGUAGES)
def test_numbers_are_written_as_the_reader_does(
    pages: dict[tuple[str, str], Reply], language: str
) -> None:
    number = pages["/tasks/typed", language].body.decode()
    (y,) = re.findall(r"(?:Its number y|Zahl y dieser Messung): <strong>([^<]*)<", number)
    assert ("." if language == "en" else ",") in y
    card = text_of(pages["/tasks/noisy/card", language])
    assert re.search(r"(Features|Merkmale) \d+: [a-z]", card), "4. would be the fourth in German"
    without = text_of(pages["/tasks/named/card", language])
    for path in ("/tasks/named", "/owner/tasks/named"):
        assert re.search(r"(at most|höchstens) 10\s%( ist)?\.", text_of(pages[path, language])), (
            "with noise it states no confidence"
        )
    assert re.search(r"(Features|Merkmale) 2: [A-Z]\w+: a, b\.", without), "no description"
    bar = pages["/tasks/noisy", language].body.decode().partition('<label for="updates">')[2]
    assert (
        " ".join(re.sub("<[^>]*>", "", bar.partition("</label>")[0]).split())
        == {
            "en": "Progress: 5 of at most 100,000 check-ins",
            "de": "Fortschritt: 5 von höchstens 100.000 Beiträgen",
        }[language]
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_number_and_its_sign_stay_on_one_line(
    pages: dict[tuple[str, str], Reply], language: str
) -> None:
    for (path, spoken), page in pages.items():
        text = re.sub("<(pre|script|code).*?</\\1>|<[^>]*>", "", page.body.decode(), flags=re.S)
        if spoken == language:
            assert not re.search(r"\d %|± ", text), path


def test_a_paused_task_is_no_success(pages: dict[tuple[str, str], Reply]) -> None:
    for path in ("/join/paused", "/tasks/paused", "/tasks/paused/join"):
        assert '<p class="notice paused">' in pages[path, "en"].body.decode(), path


def test_there_is_no_invitation_before_something_is_learnt(
    pages: dict[tuple[str, str], Reply],
) -> None:
    for task, learnt in (("noisy", True), ("sensed", False)):
        page = pages[f"/tasks/{task}", "en"].body.decode()
        assert ('id="try-form"' in page, f"/tasks/{task}/card" in page) == (learnt, learnt)
        assert ("It has learnt nothing yet." in page) == (not learnt)


def test_a_button_is_called_what_it_says(pages: dict[tuple[str, str], Reply]) -> None:
    """WCAG 2.5.3: people who speak to their browser read out what they see."""
    for page in pages.values():
        for attributes, inside in re.findall(r"<button([^>]*)>(.*?)</button>", page.body.decode()):
            name = re.search(r'aria-label="([^"]*)"', attributes)
            assert name is None or inside in name[1]
