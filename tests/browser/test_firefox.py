"""The same pages in Firefox: looking at a task, agreeing, and one check-in."""

from pathlib import Path

import pytest

from tests.browser.participants import phone_task
from tests.browser.portals import ServePortal
from tests.web.pages import version

pytest.importorskip("websockets", reason="Firefox is spoken to through websockets")

from tests.browser.firefox import find_firefox, firefox

TASK = phone_task(
    "sleep",
    features__count=2,
    features__sensor__kind="manual",
    features__sensor__transform="values",
    features__sensor__fields=["Hours of sleep", "Cups of coffee"],
    features__sensor__scale=24.0,
    collection__batch=1,
)


@pytest.mark.skipif(find_firefox() is None, reason="there is no Firefox; install firefox-esr")
def test_someone_takes_part_in_firefox(tmp_path: Path, serve_portal: ServePortal) -> None:
    program = find_firefox()
    assert program is not None
    profile = tmp_path / "profile"
    profile.mkdir()
    portal = serve_portal(TASK)
    with firefox(program, profile) as browser:
        browser.open(f"{portal.url}/tasks/sleep")
        assert browser.look("document.querySelector('h1').innerText") == TASK.title
        browser.see('[data-live="link"]', "Live")
        # The page loads it by itself, and Firefox complains if it is left meanwhile.
        assert browser.look("import('/web/page/try_model.js').then(() => true)")
        browser.open(f"{portal.url}/join/sleep")
        browser.click("#agree")
        browser.type("#fields label:first-child input", "7.5")
        browser.type("#fields label:last-child input", "2")
        browser.click("#labels button", "Walking")
        browser.click("#manual > button")
        browser.see("#sent li", "used")
        assert version(portal, "sleep") == 1
        browser.open(f"{portal.url}/tasks/sleep")
        browser.see('[data-live="version"]', "1")
        assert browser.complaints == []
