"""Pages that follow what happens: check-ins, pauses, restarts and the end."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import Watch
from tests.browser.conftest import Browse
from tests.browser.page_checks import hurry
from tests.browser.portals import Crowd, ServePortal
from tests.support.servers import Portal, make_task

TASK = make_task("walking", privacy__epsilon=10.0, stop__updates=40, collection__batch=20)


def live(page: Page, name: str, text: str | re.Pattern[str]) -> None:
    expect(page.locator(f'[data-live="{name}"]')).to_have_text(text)


def test_a_crowd_checks_in_while_someone_looks_on(
    serve_portal: ServePortal, browse: Browse, watch: Watch
) -> None:
    portal = serve_portal(TASK)
    page = browse(portal)
    hurry(page)
    page.goto("/tasks/walking")
    page.evaluate("window.sameDocument = true")
    live(page, "state", "Recruiting")
    live(page, "error", "not known")
    chart = page.locator("figure", has=page.locator('[data-picture$="/error.svg"]'))
    expect(chart.locator(".why")).to_have_text("No check-ins yet.")
    expect(chart.locator("img")).to_be_hidden()
    live(page, "link", "Live: this page follows every check-in.")
    with portal.connected() as wire:
        crowd = Crowd(wire, TASK, n_devices=10)
        crowd.check_in(10)
        shows(page, devices=10, checkins=10)
        live(page, "state", "Running")
        page.get_by_role("button", name="Pause updates").click()
        live(page, "link", "Updates are paused.")
        crowd.check_in(1)
        live(page, "version", "10")
        page.get_by_role("button", name="Resume updates").click()
        live(page, "link", "Live: this page follows every check-in.")
        shows(page, devices=10, checkins=11)
        restart(portal, page, watch)
    with portal.connected() as wire:
        crowd.wire = wire
        crowd.check_in(4)
        shows(page, devices=10, checkins=15)
        live(page, "error", re.compile(r"^between \d+ and \d+\s% wrong$"))
        expect(chart.locator("img")).to_be_visible()
        expect(chart.locator(".why")).to_be_hidden()
        with portal.store() as store:
            store.set_task_state("walking", "paused")
        live(page, "state", "Paused")
        live(page, "link", "Paused: no check-ins until it resumes.")
        with portal.store() as store:
            store.set_task_state("walking", "running")
        live(page, "state", "Running")
        live(page, "link", "Live: this page follows every check-in.")
        # The last picture is lost on its way; nothing else would make the page ask again.
        page.route("**/charts/error.svg?v=40*", lambda route: route.abort(), times=1)
        crowd.check_in(25)
    shows(page, devices=10, checkins=40)
    live(page, "state", "Finished")
    live(page, "link", "The task has ended.")
    expect(page.locator("#follow")).to_be_hidden()
    assert page.evaluate("window.sameDocument"), "the page was loaded again"


def shows(page: Page, devices: int, checkins: int) -> None:
    """Check that numbers, bar and pictures are those of this version."""
    live(page, "version", str(checkins))
    live(page, "devices", str(devices))
    live(page, "samples", f"{20 * checkins:,}")
    expect(page.locator("progress")).to_have_js_property("value", checkins)
    picture = page.locator('picture[data-picture$="/error.svg"]')
    figure = page.locator("figure", has=picture)
    figure.scroll_into_view_if_needed()
    expect(picture).to_have_attribute("data-version", str(checkins))
    if figure.locator(".why").is_visible():
        expect(figure.locator(".why")).to_contain_text("Too uncertain to say")
        return
    chart = picture.locator("img")
    expect(chart).to_have_attribute("alt", re.compile(rf"^Error: .+, {checkins} check-ins$"))
    expect(chart).to_have_attribute("src", re.compile(rf"/charts/error\.svg\?v={checkins}$"))
    assert chart.evaluate("(image) => image.complete && image.naturalWidth > 0")


def restart(portal: Portal, page: Page, watch: Watch) -> None:
    watch.allow("console error: Failed to load resource: net::ERR_")
    assert portal.stop() == 0
    live(page, "link", re.compile("^The connection is lost"))
    portal.start()
    live(page, "link", "Live: this page follows every check-in.")


def test_over_tls_in_the_dark(serve_portal: ServePortal, browse: Browse) -> None:
    portal = serve_portal(TASK, tls="self-signed")
    page = browse(portal, "phone-dark")
    hurry(page)
    page.goto("/tasks/walking")
    live(page, "link", "Live: this page follows every check-in.")
    with portal.connected() as wire:
        Crowd(wire, TASK, n_devices=1).check_in(2)
    shows(page, devices=1, checkins=2)
    page.get_by_role("link", name="Take part").click()
    expect(page.locator("pre").first).to_contain_text(f"--fingerprint {portal.fingerprint}")


@pytest.mark.parametrize(
    ("look", "task", "alt", "moves"),
    [
        (
            "desktop-light",
            "walking",
            "and the noise on",
            [("epsilon", "1", "?epsilon=10&batch=20"), ("batch", "2", "?epsilon=10&batch=100")],
        ),
        (
            "phone-dark",
            "person",
            "would send the needle’s direction",
            [("epsilon", "0", "?epsilon=1"), ("epsilon", "1", "?epsilon=10")],
        ),
    ],
)
def test_the_picture_follows_its_sliders(
    browse: Browse, portal: Portal, look: str, task: str, alt: str, moves: list[tuple[str, ...]]
) -> None:
    page = browse(portal, look)
    page.goto(f"/tasks/{task}")
    picture = page.get_by_alt_text(re.compile(alt))
    before = page.request.get(picture.evaluate("(image) => image.currentSrc")).body()
    for name, value, query in moves:
        slider = page.locator(f"input[name={name}]")
        with page.expect_response(re.compile(re.escape(query))) as answered:
            slider.fill(value)
        assert answered.value.status == 200
        said = page.locator(".slider", has=slider).locator("output")
        expect(said).to_have_text(str(10 ** int(value)))
        expect(picture).to_have_attribute("src", f"/tasks/{task}/hiding.svg{query}")
        shown = picture.evaluate("(image) => image.currentSrc")
        assert shown.endswith(query + "&theme=dark" * look.endswith("dark"))
        after = page.request.get(shown).body()
        assert after != before
        before = after
    expect(page.locator(".aside figcaption")).to_have_text(str(picture.get_attribute("alt")))
    page.goto("/privacy")
    page.go_back()
    expect(picture).to_have_attribute("src", f"/tasks/{task}/hiding.svg{query}")
    expect(said).to_have_text(str(10 ** int(value)))
