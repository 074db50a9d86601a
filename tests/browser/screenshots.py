"""Take pictures of every page and state, to be looked at: `make screenshots`.

On a desktop and a phone, in light and dark, in every language, with an index to leaf through.
`make screenshots ARGS="owner participant-ending"` takes those whose names begin like this.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from crowdml.portal.words.language import LANGUAGES
from crowdml.protocol import Task
from tests.browser.chromium import ARGUMENTS, LOOKS, find_chromium
from tests.browser.page_checks import ROOT, show_all
from tests.browser.participants import Participant, phone_task
from tests.browser.portals import Crowd, gallery, populate
from tests.browser.test_portal_pages import PAGES
from tests.support.servers import PATIENCE, Portal, create
from tests.web.pages import add_tasks, claim, version

SCREENSHOTS = ROOT / "screenshots"
OWNER = "ada"
SCREENS = {"1280": "desktop-light", "390": "phone-light"}
SCHEMES = ("light", "dark")
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Until then, the browser has chosen the pictures of the other scheme and begun to load them."""

SETTLED = """async () => {
    const height = document.documentElement.scrollHeight;
    await new Promise((done) => setTimeout(done, 100));
    return document.documentElement.scrollHeight === height;
}"""
"""Whether the page has the height that it had a moment ago."""

ALL = 600
"""Check-ins until a task ends whose end is taken."""

FELL = re.compile(r"(went from about|Gruppe von etwa) \d+\s% (to about|auf etwa) \d+\s%")
SEVERAL = 5
"""A simulation may take this many times longer than other waits."""


class Camera:
    """Take pictures on one screen, in one language.

    Args:
        browser: Chromium.
        portal: The portal whose pages are taken.
        language: The language of the reader.
        screen: A key of `SCREENS`.
        wanted: How the names of the wanted pictures begin.
    """

    def __init__(
        self, browser: Browser, portal: Portal, language: str, screen: str, wanted: tuple[str, ...]
    ) -> None:
        self.portal = portal
        self.variant = f"{language}-{screen}"
        self._browser, self._wanted = browser, wanted
        self._settings = LOOKS[SCREENS[screen]] | {"locale": language, "base_url": portal.url}

    def wants(self, name: str) -> bool:
        """Return whether pictures with this name, or with names that begin like it, are wanted."""
        return any(name.startswith(each) or each.startswith(name) for each in self._wanted)

    @contextmanager
    def page(self, **settings: Any) -> Iterator[Page]:
        context = self._browser.new_context(**self._settings | settings)
        context.set_default_timeout(1000 * PATIENCE)
        yield context.new_page()
        context.close()

    def take(self, page: Page, name: str) -> None:
        if not name.startswith(self._wanted):
            return
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.evaluate(TWO_FRAMES)
            show_all(page)
            page.wait_for_function(SETTLED)
            file = SCREENSHOTS / f"{name}-{self.variant}-{scheme}.png"
            page.screenshot(path=file, full_page=True)
        print(file.name, flush=True)


def public_pages(camera: Camera) -> None:
    with camera.page() as page:
        for name, (path, _) in PAGES.items():
            if camera.wants(name):
                page.goto(path)
                camera.take(page, name)


def owner_pages(camera: Camera) -> None:
    with camera.page() as page:
        page.goto("/owner/sign-in")
        camera.take(page, "owner-sign-in")
        with camera.portal.store() as store:
            token = store.owners.open_session(OWNER)
        page.context.add_cookies([{"name": "crowdml", "value": token, "url": camera.portal.url}])
        for name, path in {
            "owner-tasks": "/owner",
            "owner-task": "/owner/tasks/walking",
            "owner-task-paused": "/owner/tasks/paused",
            "owner-task-ended": "/owner/tasks/finished",
            "owner-task-new": "/owner/tasks/pocket-new",
            "owner-new": "/owner/new",
        }.items():
            page.goto(path)
            camera.take(page, name)
        page.goto("/owner/tasks/new")
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        camera.take(page, "owner-task-unfolded")
        page.locator("#stop-updates").fill("many")
        page.locator("#stop-updates").press("Enter")
        camera.take(page, "owner-edit-mistakes")
        page.goto("/owner/tasks/phone-invited")
        page.locator("input[name=uses]").press("Enter")
        camera.take(page, "owner-invite")
        new_task(camera, page)


def new_task(camera: Camera, page: Page) -> None:
    page.goto("/owner/new")
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    camera.take(page, "owner-new-unfolded")
    wrong = {"title": "How are you?", "target-labels": "well", "collection-batch": "many"}
    for field, value in wrong.items():
        page.locator(f"#{field}").fill(value)
    page.locator("#task button[value=preview]").click()
    expect(page.locator("[role=alert]")).to_be_visible()
    camera.take(page, "owner-mistakes")
    right = {
        "objective": "Tell a good day from a bad one.",
        "contact": "ada@example.org",
        "purpose": "A free app for everybody.",
        "sensors": "Accelerometer, 20 readings a second.",
        "target-labels": "well\nill",
        "collection-batch": "50",
    }
    for field, value in right.items():
        page.locator(f"#{field}").fill(value)
    page.locator("#task button[value=preview]").click()
    expect(page.locator("#plan p").first).to_be_visible(timeout=1000 * SEVERAL * PATIENCE)
    camera.take(page, "owner-preview")


def participant_states(camera: Camera) -> None:
    for name, path in {
        "participant-invited": "/join/phone-invited",
        "participant-not-private": "/join/phone-open",
        "participant-impossible": "/join/walking",
        "participant-no-sensor": "/join/phone",
        "participant-paused": "/join/phone-paused",
        "participant-closed": "/join/phone-stopped",
    }.items():
        if not camera.wants(name):
            continue
        # A computer looks for the sensor; a phone has it.
        computer = {"has_touch": False, "is_mobile": False} if name.endswith("no-sensor") else {}
        with camera.page(**computer) as page:
            page.goto(path)
            expect(page.locator("#loading").filter(visible=True)).to_have_count(0)
            camera.take(page, name)
    for kind in ("phone", "phone-person", "phone-many"):
        if camera.wants(f"participant-{kind}-"):
            with camera.page() as page:
                take_part(camera, page, kind)
    if camera.wants("participant-phone-terms-changed"):
        # The requests of a service worker cannot be changed on their way.
        with camera.page(service_workers="block") as page:
            meet_other_terms(camera, page)
    if camera.wants("participant-ending"):
        with camera.page() as page:
            see_the_end(camera, page)


def take_part(camera: Camera, page: Page, kind: str) -> None:
    """Take the states of taking part, from consent to leaving."""
    Participant(page, camera.portal, kind).open()
    expect(page.locator("#agree")).to_be_enabled()
    camera.take(page, f"participant-{kind}-consent")
    if page.locator("#checkins").is_visible():
        page.locator("#checkins").fill("2")
    page.locator("#agree").click()
    expect(page.locator("#labels button").first).to_be_visible()
    camera.take(page, f"participant-{kind}-question")
    page.locator("#labels button").first.click()
    page.wait_for_timeout(500)
    camera.take(page, f"participant-{kind}-collecting")
    limit = page.locator("#limit-reached, #ended-title").filter(visible=True)
    expect(limit).to_be_visible(timeout=1000 * PATIENCE)
    camera.take(page, f"participant-{kind}-limit")
    page.locator("[data-leave]").last.evaluate("(button) => button.click()")
    camera.take(page, f"participant-{kind}-leaving")
    page.locator("#sure-to-leave button[value=leave]").click()
    expect(page.locator("#bye-title")).to_be_visible()
    camera.take(page, f"participant-{kind}-left")


def see_the_end(camera: Camera, page: Page) -> None:
    """Take the page to come back to: the task has ended, and its error has fallen since."""
    name = f"ending-{camera.variant}"
    task = phone_task(name, stop__updates=ALL, collection__batch=10, collection__heldout=0.5)
    add_tasks(camera.portal, task)
    with camera.portal.connected() as wire:
        crowd = Crowd(wire, task, n_devices=60, half=1000)
        crowd.check_in(120)
        participant = Participant(page, camera.portal, name).open()
        page.locator("#agree").click()
        page.locator("#labels button").first.click()
        expect(page.locator("[data-personal-accuracy] svg").first).to_be_visible(
            timeout=1000 * PATIENCE
        )
        camera.take(page, "participant-ending-collecting")
        page.locator("#run").click()
        participant.until_quiet()
        crowd.half = 8
        crowd.check_in(ALL - version(camera.portal, name))
    page.reload()
    expect(page.locator("#became")).to_have_text(FELL, timeout=1000 * PATIENCE)
    page.locator("#keep").click()
    expect(page.locator("#kept")).not_to_be_empty()
    page.locator("#try-form button").click()
    expect(page.locator("#prediction dl")).to_be_visible()
    camera.take(page, "participant-ending")


def meet_other_terms(camera: Camera, page: Page) -> None:
    Participant(page, camera.portal, "phone").open()
    page.locator("#agree").click()
    expect(page.locator("#labels button").first).to_be_visible()
    claim(page, phone_task("phone", privacy__epsilon=2.0, collection__batch=6))
    page.locator("#labels button").first.click()
    expect(page.locator("#terms-title")).to_be_visible(timeout=1000 * PATIENCE)
    camera.take(page, "participant-phone-terms-changed")


def all_tasks() -> Iterator[Task]:
    yield from gallery()
    yield phone_task("phone")
    direction = {"privacy__mechanism": "direction", "privacy__epsilon": 4.0, "optimizer__c": None}
    yield phone_task("phone-person", **direction, stop__updates=1000)
    yield phone_task("phone-open", privacy__epsilon=float("inf"))
    yield phone_task("phone-invited", enrolment__mode="invite")
    yield phone_task("phone-many", target__labels=[f"place {k}" for k in range(40)])
    yield phone_task("phone-paused")
    yield phone_task("phone-stopped")
    yield phone_task("pocket-new")


def index(names: list[str]) -> str:
    """Write an index: a row for each page or state, a column for each variant."""
    variants = [f"{language}-{screen}-{scheme}" for language in LANGUAGES for screen in SCREENS
                for scheme in SCHEMES]  # fmt: skip
    head = "".join(f"<th>{variant}</th>" for variant in variants)
    rows = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(
            f'<td><a href="{name}-{v}.png"><img loading="lazy" src="{name}-{v}.png" alt="{v}"></a>'
            for v in variants
        )
        for name in names
    )
    style = "body{font:14px sans-serif} td{vertical-align:top} img{width:180px;max-height:400px;"
    style += "object-fit:cover;object-position:top;border:1px solid #888} th{text-align:left}"
    return (
        f"<!doctype html><meta charset=utf-8><title>Screenshots</title><style>{style}</style>"
        f"<table><tr><th></th>{head}</tr>{rows}</table>"
    )


def main(*wanted: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    pairs = [(language, screen) for language in LANGUAGES for screen in SCREENS]
    with TemporaryDirectory() as home, sync_playwright() as playwright:
        portal = Portal(Path(home))
        create(portal.database, *all_tasks())
        portal.start()
        try:
            populate(portal, gallery())
            with portal.store() as store:
                store.owners.add(OWNER, "correct horse battery")
                store.set_task_state("phone-paused", "paused")
                store.set_task_state("phone-stopped", "stopped")
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
            for language, screen in pairs:
                camera = Camera(browser, portal, language, screen, wanted or ("",))
                public_pages(camera)
                if camera.wants("owner"):
                    owner_pages(camera)
                if camera.wants("participant"):
                    participant_states(camera)
            browser.close()
        finally:
            portal.kill()
    ending = f"-{LANGUAGES[-1]}-390-dark.png"
    taken = sorted(f.name.removesuffix(ending) for f in SCREENSHOTS.glob(f"*{ending}"))
    (SCREENSHOTS / "index.html").write_text(index(taken))
    print(f"{len(taken)} pages and states: {SCREENSHOTS / 'index.html'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
