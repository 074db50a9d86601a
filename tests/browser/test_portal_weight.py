"""What the page of a task costs someone with a phone: bytes, and a text that stays in its place."""

import math
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from crowdml.portal.pages.static import STATIC
from crowdml.server import Settings
from tests.browser.conftest import Browse
from tests.browser.page_checks import TASK_SCRIPT, hurry
from tests.browser.portals import Crowd, portals
from tests.support.servers import PATIENCE, Portal, make_task

FIRST_VIEW, HOUR = 120_000, 10_000_000
"""Bytes."""

ROUNDS = 3
"""Of the chart that is on the screen."""
TASK = make_task("busy", privacy__epsilon=10.0, collection__batch=20, stop__error=0.05)


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Portal, Crowd]]:
    with portals(tmp_path_factory.mktemp("busy")) as serve:
        portal = serve(TASK)
        with portal.connected() as wire:
            crowd = Crowd(wire, TASK, n_devices=20)
            crowd.check_in(40)
            yield portal, crowd


class Scale:
    """Count the bytes that a page loads, as they come over the wire."""

    def __init__(self, page: Page) -> None:
        self.bytes = self.heard = self.messages = 0
        self._session = page.context.new_cdp_session(page)
        self._session.on("Network.loadingFinished", self._add)
        self._session.on("Network.eventSourceMessageReceived", self._hear)
        self._session.send("Network.enable")

    def _add(self, event: dict[str, Any]) -> None:
        self.bytes += event["encodedDataLength"]

    def _hear(self, event: dict[str, Any]) -> None:
        """Count the messages of a stream one by one, because it has no end."""
        self.messages += 1
        self.heard += len(event["data"]) + len("event: statistics\ndata: \n\n")


def rounds_in_an_hour() -> float:
    """Compute how often the page's script redraws pictures in an hour."""
    script = STATIC.files[TASK_SCRIPT].bodies[""].decode()
    soon, late = (int(re.findall(rf"{name} = (\d+)", script)[0]) for name in ("SOON_MS", "LATE_MS"))
    growth = float(re.findall(r"Math.min\(([\d.]+) \* pause, LATE_MS\)", script)[0])
    early = math.log(late / soon, growth)
    return early + 3_600_000 / late


def test_the_first_view_and_an_hour(browse: Browse, busy: tuple[Portal, Crowd]) -> None:
    portal, crowd = busy
    page = browse(portal, "phone-light")
    hurry(page)
    scale = Scale(page)
    page.goto("/tasks/busy")
    expect(page.get_by_text("Live: this page follows")).to_be_attached()
    page.wait_for_load_state("load")
    assert scale.bytes < FIRST_VIEW
    chart = page.locator('picture[data-picture$="/error.svg"]')
    chart.scroll_into_view_if_needed()
    version = crowd.sent
    scale.bytes = scale.heard = scale.messages = 0
    drawn: set[str] = set()
    page.on(
        "request", lambda request: drawn.add(request.url) if "error.svg" in request.url else None
    )
    start = time.monotonic()
    while len(drawn) < ROUNDS or int(str(chart.get_attribute("data-version"))) == version:
        assert time.monotonic() < start + PATIENCE
        crowd.check_in(3)
        page.wait_for_timeout(100)
    pictures = rounds_in_an_hour() * scale.bytes / len(drawn)
    messages = 3600 / Settings().events_seconds
    assert scale.messages
    assert pictures + messages * scale.heard / scale.messages < HOUR


def test_pictures_off_the_screen_rest(browse: Browse, busy: tuple[Portal, Crowd]) -> None:
    portal, crowd = busy
    page = browse(portal, "phone-light")
    hurry(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/tasks/busy")
    expect(page.get_by_text("Live: this page follows")).to_be_attached()
    crowd.check_in(2)
    expect(page.locator('[data-live="version"]')).to_have_text(str(crowd.sent))
    chart = page.locator('picture[data-picture$="/error.svg"]')
    chart.scroll_into_view_if_needed()
    expect(chart).to_have_attribute("data-version", str(crowd.sent))
    crowd.check_in()
    # The second round begins when all of the first is drawn.
    expect(chart).to_have_attribute("data-version", str(crowd.sent))
    assert not [url for url in asked if "pace.svg" in url or "staleness.svg" in url]


def test_nothing_moves_under_a_finger(browse: Browse, busy: tuple[Portal, Crowd]) -> None:
    portal, crowd = busy
    page = browse(portal, "phone-light")
    page.goto("/tasks/busy")
    page.evaluate(
        """() => {
            window.shift = 0;
            new PerformanceObserver((list) => {
                for (const entry of list.getEntries()) window.shift += entry.value;
            }).observe({ type: "layout-shift", buffered: true });
        }"""
    )
    expect(page.get_by_text("Live: this page follows")).to_be_attached()
    crowd.check_in(3)
    height = page.evaluate("document.documentElement.scrollHeight")
    for y in range(0, height, 600):
        page.evaluate(f"scrollTo(0, {y})")
        page.wait_for_timeout(50)
    expect(page.locator('[data-live="version"]')).to_have_text(str(crowd.sent))
    assert page.evaluate("shift") <= 0.01
