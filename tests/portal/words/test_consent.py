"""What a person decides by: the page of every task answers the same six questions."""

import re
from collections.abc import Iterator

import pytest

from crowdml.demo.tasks import demo_task
from crowdml.portal.pages.description import Description
from crowdml.protocol import Task
from crowdml.protocol.numbers_in_words import four_digits_up
from tests.docs.pages import ROOT
from tests.portal.owner_browser import Portal, text_of
from tests.support.servers import create, make_task

FILES = sorted((ROOT / "examples").glob("*.toml"))
EXAMPLES = [
    *(Task.from_toml(path.read_text()) for path in FILES),
    demo_task("digits", "direction", 4.0, [14]),
    make_task(
        "readings",
        features__names=["light", "warmth"],
        features__count=2,
        features__center=[300.0, 21.0],
    ),
    make_task("noisy", **{"features__sensor.kind": "motion"}),
    make_task("bare", privacy__epsilon=float("inf"), **{"features__sensor.kind": "motion"}),
]
MOST_WORDS = 220
QUESTIONS = {
    "en": ["Who asks?", "Which sensors are read?", "What leaves the device?",
           "How long does it take?", "What can be learnt about me?", "How do I stop?"],
    "de": ["Wer fragt?", "Was wird gemessen?", "Was verlässt das Gerät?",
           "Wie lange dauert es?", "Was lässt sich über mich erfahren?", "Wie höre ich auf?"],
}  # fmt: skip


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Portal]:
    portal = Portal(tmp_path_factory.mktemp("portal"))
    create(portal.database, *EXAMPLES)
    yield portal.start()
    assert portal.stop() == 0, portal.output


def answers(portal: Portal, task: Task, language: str = "en") -> list[str]:
    """What the page says to each question, for the device that the task is for."""
    here = task.terms.features.sensor is not None
    with portal.browser() as browser:
        address = f"/join/{task.name}" if here else f"/tasks/{task.name}/join"
        text = " ".join(text_of(browser.get(address, **{"accept-language": language})).split())
    found = re.search(".*".join(f"{re.escape(each)}(.*)" for each in QUESTIONS[language]), text)
    assert found, text
    return [each.strip() for each in found.groups()]


@pytest.mark.parametrize("task", EXAMPLES, ids=lambda task: task.name)
def test_six_answers(portal: Portal, task: Task) -> None:
    terms, about = task.terms, Description(task, task.terms.text)
    who, sensed, leaves, how_long, lost, stop = answers(portal, task)
    assert all(each in who for each in (terms.owner, terms.contact, terms.purpose))
    here = terms.features.sensor is not None
    assert ("This browser reads" if here else terms.sensors) in sensed
    assert ", ".join(terms.target.labels[:8]) in sensed
    promise = terms.promise
    short = " ".join(map(str, promise.sending_in_short))
    assert leaves == f"{short} In full {' '.join(map(str, promise.what_leaves))}"
    assert (f"About {about.time()} with the page open" if here else "your device") in how_long
    assert lost.startswith(f"{promise.level.pill} ε = {four_digits_up(promise.epsilon)} ")
    assert " ".join(map(str, promise.what_is_lost)) in lost
    assert ("Leave and erase everything" if here else "crowdml device leave") in stop
    assert ("erases all it keeps" if here else "erases your samples, your messages") in stop


def test_the_example_takes_twenty_minutes(portal: Portal) -> None:
    how_long = answers(portal, EXAMPLES[0])[3]
    assert "About 20 minutes with the page open, once." in how_long


def test_six_answers_in_german(portal: Portal) -> None:
    who, _, _, how_long, lost, stop = answers(portal, EXAMPLES[0], "de")
    assert EXAMPLES[0].terms.owner in who
    assert "Etwa 20 Minuten" in how_long
    assert "kann er schlimmstenfalls in 983 von 1.000 Fällen richtigliegen" in lost
    assert "„Aussteigen und alles löschen“" in stop


@pytest.mark.parametrize(
    ("contact", "address"),
    [
        ("study@example.org", "mailto:study@example.org"),
        ("https://example.org/ask", "https://example.org/ask"),
        ("javascript:alert(1)", ""),
        ("mail study@example.org", ""),
        ("data:text/html,a@b.c", ""),
        ("room 12", ""),
    ],
)
def test_a_contact_that_leads_somewhere(contact: str, address: str) -> None:
    assert Description(make_task(__contact=contact), "").address == address


@pytest.mark.parametrize("language", QUESTIONS)
@pytest.mark.parametrize("task", EXAMPLES, ids=lambda task: task.name)
def test_a_minute_to_read(portal: Portal, task: Task, language: str) -> None:
    """All words that are visible when the page has loaded, those of the owner among them."""
    with portal.browser() as browser:
        page = browser.get(f"/join/{task.name}", **{"accept-language": language}).body.decode()
    (main,) = re.findall("<main.*?</main>", page, re.S)
    for unseen in (
        "<noscript>.*?</noscript>", "<dialog.*?</dialog>", '<p id="loading".*?</p>',
        r"<section[^>]* hidden>.*?</section>", r"<(p|div|form)[^>]* hidden>.*?</\1>",
        r"(?<=</summary>)((?!</details>).)*",
    ):  # fmt: skip
        main = re.sub(unseen, "", main, flags=re.S)
    assert len(re.sub("<[^>]*>", "", main).split()) <= MOST_WORDS
