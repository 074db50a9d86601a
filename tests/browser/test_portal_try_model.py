"""A place to try the model: what it says is what the exported model says, and nothing is sent."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, Request, expect

from crowdml.models import MODELS
from crowdml.privacy import bound_features
from crowdml.protocol import probability_in_words
from crowdml.types import Array
from tests.browser.conftest import Browse
from tests.browser.participants import Participant, phone_task
from tests.browser.portals import Crowd
from tests.browser.test_participant_sensors import MANUAL
from tests.support.servers import Portal, make_task
from tests.web.pages import add_tasks

pytestmark = pytest.mark.xdist_group("tabs")

TASKS = {
    "row": make_task("row", privacy__epsilon=10.0, target__labels=["still", "walk", "run"]),
    "number": make_task(
        "number",
        target__labels=None,
        target__unit="kg",
        model__kind="ridge",
        model__clip=1.0,
        model__intercept=True,
    ),
    "typed": phone_task("typed", **MANUAL),
    "sensed": phone_task("sensed"),
    "new": make_task("new"),
    "room": make_task(
        "room",
        privacy__epsilon=10.0,
        features__names=["humidity", "temperature", "light", "hours"],
        features__center=[45.0, 21.0, 300.0, 6.0],
        features__scale=[12.0, 3.0, 250.0, 3.0],
        features__length=2.9,
        features__missing="center",
    ),
}
TYPED = {"row": "9, 1 0;2", "number": "0.1 0.2 0.3 0.1"}


@pytest.fixture(scope="module")
def server(phones: Portal) -> Portal:
    add_tasks(phones, *TASKS.values())
    with phones.connected() as wire:
        for task in TASKS.values():
            Crowd(wire, task).check_in(0 if task.name == "new" else 3)
    return phones


def learnt(server: Portal, name: str) -> Any:
    with server.connected() as wire:
        return wire.get(f"/v1/tasks/{name}/export?format=json").json()


def scores(server: Portal, name: str, x: Sequence[float | None]) -> Array:
    model, terms = learnt(server, name), TASKS[name].terms
    scaled = terms.features.scaled(x)
    bounded = bound_features(scaled, terms.features.count, terms.privacy.norm)
    answers: Array = np.array(model["weights"]) @ bounded + np.array(model["intercepts"])
    return answers


def shares(s: Array) -> list[str]:
    """Return the share of each label as the page writes it, the largest first."""
    e = np.exp(s - s.max())
    return [
        str(probability_in_words(share)) for share in sorted((e / e.sum()).tolist(), reverse=True)
    ]


def test_a_row_of_numbers(browse: Browse, server: Portal) -> None:
    page, asked = watched(browse(server))
    page.goto("/tasks/row")
    page.get_by_label("4 inputs").fill(TYPED["row"])
    page.get_by_role("button", name="Predict").click()
    expected = scores(server, "row", [9, 1, 0, 2])
    best = TASKS["row"].terms.target.labels[int(expected.argmax())]
    expect(page.get_by_text(f"The model says: {best}")).to_be_visible()
    assert [text.strip() for text in page.locator(".chances dd").all_inner_texts()] == shares(
        expected
    )
    page.get_by_label("4 inputs").fill("1 2 three 4")
    page.get_by_role("button", name="Predict").click()
    expect(page.get_by_text("Please enter 4 numbers.")).to_be_visible()
    own = [request for request in asked if "/static/" not in request.url]
    assert not [request for request in own if request.method != "GET" or "9" in request.url[25:]]


def watched(page: Page) -> tuple[Page, list[Request]]:
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    return page, asked


def test_a_number_is_predicted(browse: Browse, server: Portal) -> None:
    page = browse(server)
    page.goto("/tasks/number")
    page.get_by_label("4 inputs").fill(TYPED["number"])
    page.get_by_role("button", name="Predict").click()
    (expected,) = scores(server, "number", [0.1, 0.2, 0.3, 0.1])
    said = page.get_by_text("The model says:")
    expect(said).to_be_visible()
    number, unit = said.inner_text().partition(": ")[2].split()
    assert float(number) == pytest.approx(expected, rel=0.01)
    assert unit == "kg"
    assert page.locator(".chances").count() == 0
    assert MODELS["ridge"].classifier is False


def test_before_anything_is_learnt(browse: Browse, server: Portal) -> None:
    """A page that is open from the start shows the form when there is a model to try."""
    page = browse(server)
    page.goto("/tasks/new")
    expect(page.get_by_text("It has learnt nothing yet.")).to_be_visible()
    expect(page.get_by_role("button", name="Predict")).to_have_count(0)
    with server.connected() as wire:
        Crowd(wire, TASKS["new"]).check_in(3)
    expect(page.locator('[data-live="version"]')).to_have_text("3")
    page.get_by_role("button", name="Predict").click()
    expect(page.get_by_text("The model says:")).to_be_visible()


def test_numbers_by_their_names(browse: Browse, server: Portal) -> None:
    page = browse(server)
    page.goto("/tasks/typed")
    page.get_by_label("Hours of sleep").fill("6.5")
    page.get_by_label("Cups of coffee").fill("3")
    page.get_by_role("button", name="Predict").click()
    expected = shares(scores(server, "typed", [6.5 / 24, 3 / 24]))
    expect(page.locator(".chances dd")).to_have_text(expected)


def test_values_in_their_own_units(browse: Browse, server: Portal) -> None:
    """Values are entered by name and scaled by the terms; an empty column is at its center."""
    page = browse(server)
    page.goto("/tasks/room")
    for name, value in {"light": "12", "temperature": "17.9", "hours": "0.1"}.items():
        page.get_by_label(name).fill(value)
    page.get_by_role("button", name="Predict").click()
    expected = shares(scores(server, "room", [None, 17.9, 12.0, 0.1]))
    expect(page.locator(".chances dd")).to_have_text(expected)


def test_what_the_phone_senses(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-dark")
    Participant(page, server, "sensed").open("/tasks/sensed")
    page.get_by_role("button", name="Sense and predict").click()
    expect(page.get_by_text("The model says:")).to_be_visible()
    expect(page.locator(".chances dt")).to_have_count(TASKS["sensed"].terms.n_classes)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Sense and predict")).to_be_visible()


def test_where_nothing_can_be_sensed(browse: Browse, server: Portal) -> None:
    page = browse(server)
    page.goto("/tasks/sensed")
    page.get_by_role("button", name="Sense and predict").click()
    expect(page.locator("#prediction")).to_have_text(
        "This device has no motion sensor. Take part with a phone."
    )
    expect(page.get_by_role("button", name="Sense and predict")).to_be_visible()
