"""Every public page, as people with different screens and senses meet it."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import Watch
from tests.browser.page_checks import barriers, fits, overflow_of_large_text, show_all

PAGES = {
    "tasks": ("/", "Tasks"),
    "search": ("/?q=walking", "Tasks"),
    "nothing-found": ("/?q=zebra&state=ended", "Tasks"),
    "task": ("/tasks/walking", "What is the owner of this phone doing?"),
    "task-whole-person": ("/tasks/person", "Is this person well?"),
    "task-gaussian": ("/tasks/indoors", "Is it light enough to read?"),
    "task-paused": ("/tasks/paused", "A task that pauses"),
    "task-finished": ("/tasks/finished", "A task that is done"),
    "task-not-private": ("/tasks/open-data", "A task that is not private"),
    "task-regression": ("/tasks/temperature", "How warm is it on the balcony?"),
    "task-new": ("/tasks/new", "A task without check-ins"),
    "task-sensor": ("/tasks/pocket", "How does its owner carry the phone?"),
    "join": ("/tasks/pocket/join#other", "Join How does its owner carry the phone?"),
    "join-no-phone": ("/tasks/walking/join", "Join What is the owner of this phone doing?"),
    "join-invite": ("/tasks/club/join", "Join A task for invited devices"),
    "join-ended": ("/tasks/stopped/join", "Join A task that was stopped"),
    "card": ("/tasks/walking/card", "Model card of What is the owner of this phone doing?"),
    "privacy": ("/privacy", "How privacy works here"),
    "program": ("/program", "The phone’s program"),
    "unknown": ("/nowhere", "There is nothing here"),
}
"""What each page is called, its address, and its title."""

FRAMELESS = """() => [...document.querySelectorAll(".state, .level, .warning, .notice, button")]
    .filter((each) => each.checkVisibility() && getComputedStyle(each).borderStyle === "none")
    .map((each) => each.className)"""


@pytest.mark.parametrize("name", PAGES)
def test_on_every_screen(phone: Page, watch: Watch, name: str) -> None:
    path, title = PAGES[name]
    if name == "unknown":
        watch.expect("console error: .* 404")
    answer = phone.goto(path)
    assert answer is not None
    assert answer.status == (404 if name == "unknown" else 200)
    assert phone.title() == f"{title} · crowdml"
    assert fits(phone)
    show_all(phone)
    assert barriers(phone) == []
    phone.set_viewport_size({"width": 320, "height": 640})
    assert fits(phone)
    phone.set_viewport_size({"width": 1280, "height": 900})
    phone.emulate_media(color_scheme="light")
    assert fits(phone)
    in_german(phone, path)


def in_german(page: Page, path: str) -> None:
    """Check the page in German, with large letters, and with forced colours."""
    page.goto("about:blank")
    page.set_extra_http_headers({"accept-language": "de"})
    page.goto(path)
    expect(page.locator("html")).to_have_attribute("lang", "de")
    assert barriers(page) == []
    assert overflow_of_large_text(page) == []
    page.emulate_media(forced_colors="active")
    assert page.evaluate(FRAMELESS) == []
