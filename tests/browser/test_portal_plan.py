"""The preview in a browser: what the crowd should reach comes in by itself, or why it does not."""

import os
import signal
import time
from pathlib import Path

from playwright.sync_api import Page, expect

from crowdml.cli.task.template import TASK_TEMPLATE
from tests.browser.conftest import Browse
from tests.browser.page_checks import barriers, fits, show_all
from tests.browser.portals import ServePortal
from tests.portal.owner_browser import NAME
from tests.support.servers import PATIENCE, Portal

TEXT = TASK_TEMPLATE.format(name="steps")


def preview(browse: Browse, portal: Portal) -> Page:
    with portal.store() as store:
        store.owners.add(NAME, "correct horse battery")
        token = store.owners.open_session(NAME)
    page = browse(portal)
    page.context.add_cookies([{"name": "crowdml", "value": token, "url": portal.url}])
    page.goto("/owner/new")
    page.get_by_text("Paste a task file instead").click()
    page.get_by_label("Task file (TOML)").fill(TEXT)
    page.get_by_role("button", name="Preview", exact=True).last.click()
    expect(page.get_by_role("button", name="Simulating this crowd …")).to_be_disabled()
    return page


def place_of(page: Page) -> float:
    box = page.get_by_role("button", name="Create this task").bounding_box()
    assert box is not None
    return box["y"]


def test_the_advice_comes_in(serve_portal: ServePortal, browse: Browse) -> None:
    portal = serve_portal()
    page = preview(browse, portal)
    before = place_of(page)
    portal.end_simulations()
    plan = page.locator("#plan")
    expect(plan).to_contain_text("1,000 devices reach an error of")
    expect(plan).to_contain_text("If one device in ten lied, the error would be about the same.")
    expect(plan).to_contain_text("made-up data of medium difficulty")
    expect(plan.get_by_role("button")).to_have_count(0)
    expect(page.locator("#preview")).to_be_focused()
    assert abs(place_of(page) - before) < 5, "nobody presses the wrong button"
    show_all(page)
    for width, scheme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert fits(page)
        assert barriers(page) == []


def test_a_simulation_that_dies(serve_portal: ServePortal, browse: Browse) -> None:
    portal = serve_portal()
    page = preview(browse, portal)
    os.kill(simulation_of(portal), signal.SIGKILL)
    plan = page.locator("#plan")
    expect(plan).to_contain_text("The simulation failed, and the server’s log says why.")
    assert "a simulation ended with -9" in portal.output
    again = plan.get_by_role("button", name="Simulate this crowd")
    expect(again).to_be_enabled()
    again.click()
    portal.end_simulations()
    expect(plan).to_contain_text("1,000 devices reach an error of")
    expect(plan).to_be_focused()


def test_a_simulation_ends_with_the_server(serve_portal: ServePortal, browse: Browse) -> None:
    portal = serve_portal()
    page = preview(browse, portal)
    child = simulation_of(portal)
    assert portal.stop() == 0
    assert not Path(f"/proc/{child}").exists()
    assert portal.complaints == []
    page.close()


def simulation_of(portal: Portal) -> int:
    """Return the simulation process that the server has started."""
    assert portal.process is not None
    pid = portal.process.pid
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children = (thread / "children").read_text().split()
            if children:
                return int(children[0])
        time.sleep(0.01)
    raise AssertionError("the server simulates nothing")
