"""Act as a participant with a phone: its page, its motion, what it sends and stores."""

import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import CDPSession, Locator, Page, Request, expect

from crowdml.protocol import Task
from tests.browser.page_checks import barriers, fits, overflow_of_large_text, show_all
from tests.support.servers import PATIENCE, Portal, make_task
from tests.web.pages import version

MOTION_SENSORS = ("accelerometer", "linear-acceleration", "gyroscope")
"""Chromium sends no motion event unless it has all three."""

MAIN_STATES = ("consent", "collecting", "limit", "not-private", "terms-changed")
VARIANTS = ("forged", "offline", "refused", "returned", "task-paused", "welcome-back")

STORED = """async () => {
    const found = {};
    for (const { name } of await indexedDB.databases()) {
        const db = await new Promise((done) => {
            const request = indexedDB.open(name);
            request.onsuccess = () => done(request.result);
        });
        for (const store of db.objectStoreNames) {
            found[store] = await new Promise((done) => {
                const request = db.transaction(store).objectStore(store).getAll();
                request.onsuccess = () => done(request.result);
            });
        }
        db.close();
    }
    return found;
}"""
NOTE = """() => {
    const shown = ["#status", "#wait"].map((name) => document.querySelector(name));
    globalThis.said = new Set();
    const note = () => shown.forEach((each) => globalThis.said.add(each.textContent));
    const all = { childList: true, characterData: true, subtree: true };
    for (const each of shown) new MutationObserver(note).observe(each, all);
}"""
HIDE = """(hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def phone_task(name: str = "moving", **changes: Any) -> Task:
    """Make a task for phones with quick samples; `changes` are those of `make_task`."""
    usual: dict[str, Any] = {
        "__title": "What is the owner of this phone doing?",
        "__objective": "Tell sitting, walking and jogging apart from a phone's movement.",
        "__owner": "Jane Doe, Example University",
        "__contact": "study@example.org",
        "__purpose": "A free app that counts steps.",
        "__sensors": "Accelerometer, 50 readings a second, in windows of 16.",
        "features__count": 9,
        "features__description": "Spectrum of the acceleration's length.",
        "features__sensor__kind": "motion",
        "features__sensor__rate": 50.0,
        "features__sensor__window": 16,
        "features__sensor__every": 0.1,
        "target__labels": ["Still", "Walking", "Jogging"],
        "collection__batch": 5,
        "collection__buffer": 40,
        "optimizer__c": 1.0,
        "stop__updates": None,
    }
    return make_task(name, **(usual | changes))


class Participant:
    """A participant with a phone, on the page of one task."""

    def __init__(
        self, page: Page, server: Portal, task: str = "moving", motion: bool = True
    ) -> None:
        self.server, self.task = server, task
        self.context = page.context
        self.sent: list[bytes] = []
        self.context.on("request", self._note)
        self.page = page
        if motion:
            self._motion = self._hold()

    def _note(self, request: Request) -> None:
        if request.url.endswith(f"/{self.task}/checkins"):
            self.sent.append(request.post_data_buffer or b"")

    def _hold(self) -> CDPSession:
        """Send real motion events of a phone that lies still."""
        session = self.context.new_cdp_session(self.page)
        metadata = {"available": True, "minimumFrequency": 1, "maximumFrequency": 100}
        for kind in MOTION_SENSORS:
            override = {"enabled": True, "type": kind, "metadata": metadata}
            session.send("Emulation.setSensorOverrideEnabled", override)
            reading = {"xyz": {"x": 0.5, "y": 1.0, "z": 9.7}}
            override = {"type": kind, "reading": reading}
            session.send("Emulation.setSensorOverrideReadings", override)
        return session

    def shake(self, seconds: float) -> None:
        """Move the phone to and fro."""
        end = time.monotonic() + seconds
        strong = False
        while time.monotonic() < end:
            strong = not strong
            reading = {"xyz": {"x": 6.0 if strong else 0.0, "y": 1.0, "z": 9.7}}
            override = {"type": "accelerometer", "reading": reading}
            self._motion.send("Emulation.setSensorOverrideReadings", override)
            self.page.wait_for_timeout(60)

    def open(self, path: str | None = None) -> "Participant":
        self.page.goto(path or f"/join/{self.task}")
        return self

    def reopen(self) -> "Participant":
        """Open the page in another tab of the same browser."""
        self.page = self.context.new_page()
        self._motion = self._hold()
        return self.open()

    def agree(self, checkins: int | None = None) -> "Participant":
        if checkins is not None:
            self.page.get_by_label("Stop after this many check-ins").fill(str(checkins))
        self.tap("Agree and take part")
        expect(self.page.locator("#status")).to_be_visible()
        return self

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True).filter(visible=True)

    def tap(self, name: str) -> None:
        self.button(name).click()

    def press(self, name: str) -> None:
        """Press a button by keyboard, because it may move while the page changes above it."""
        self.button(name).press("Enter")

    def hide(self, hidden: bool = True) -> None:
        """Move the page to the background, or back."""
        self.page.evaluate(HIDE, hidden)

    def says(self, text: str) -> None:
        expect(self.page.locator("#status")).to_contain_text(text)

    def note(self) -> None:
        """Record every status sentence from now on, however briefly it is shown."""
        self.page.evaluate(NOTE)

    def has_said(self, text: str) -> None:
        said = "(text) => [...globalThis.said].some((each) => each.includes(text))"
        self.until(lambda: bool(self.page.evaluate(said, text)))

    def view(self, name: str) -> None:
        expect(self.page.locator(f"#{name}-title")).to_be_visible(timeout=1000 * PATIENCE)

    def stored(self) -> dict[str, list[Any]]:
        """Return everything in the browser's databases."""
        found: dict[str, list[Any]] = self.page.evaluate(STORED)
        return found

    def collected(self) -> int:
        """Count the samples in the buffer and in all check-ins."""
        stored = self.stored()
        events = [line["event"] for line in stored["ledger"]]
        used = sum(event["nTraining"] + event["nHeldout"] for event in events)
        return len(stored["buffer"]) + int(used)

    def applied(self) -> int:
        return version(self.server, self.task)

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, self.page.locator("main").inner_text()
            self.page.wait_for_timeout(20)

    def until_applied(self, n: int) -> None:
        self.until(lambda: self.applied() >= n)

    def until_quiet(self) -> None:
        """Wait until pending work has reached the database and the server."""
        seen: list[tuple[int, int, list[Any]]] = []

        def is_quiet() -> bool:
            seen.append((self.applied(), self.collected(), self.stored()["outbox"]))
            self.page.wait_for_timeout(200)
            return len(seen) > 2 and seen[-3] == seen[-2] == seen[-1] and not seen[-1][2]

        self.until(is_quiet)


def running(
    page: Page,
    server: Portal,
    task: str = "moving",
    label: str | None = None,
    checkins: int = 1000,
) -> Participant:
    """Return a participant who has agreed and answered."""
    participant = Participant(page, server, task).open().agree(checkins)
    if label:
        participant.tap(label)
    return participant


def inspect(page: Page, name: str) -> None:
    """Check that the page in this state fits small screens and is accessible.

    States share their colours, so only the main states are checked in dark mode.
    """
    show_all(page)
    assert fits(page)
    if name in MAIN_STATES:
        page.emulate_media(color_scheme="dark")
        assert barriers(page) == []
        page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 320, "height": 640})
    assert fits(page)
    if name not in VARIANTS:
        assert barriers(page) == []
    assert overflow_of_large_text(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
