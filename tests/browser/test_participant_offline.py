"""The page as an app: installable, and there without a network."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import Watch
from tests.browser.conftest import Browse
from tests.browser.participants import phone_task, running
from tests.support.servers import Portal
from tests.web.pages import add_tasks

pytestmark = pytest.mark.xdist_group("phones")

READY = "navigator.serviceWorker.ready.then((registration) => registration.active.state)"
CACHES = """async () => {
    const found = {};
    for (const name of await caches.keys()) {
        const requests = await (await caches.open(name)).keys();
        found[name] = requests.map(({ url }) => new URL(url).pathname);
    }
    return found;
}"""


@pytest.fixture(scope="module")
def server(phones: Portal) -> Portal:
    return add_tasks(phones, phone_task("kept"))


def test_the_page_can_be_installed(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    page.goto("/join/kept")
    address = page.locator("link[rel=manifest]").get_attribute("href")
    manifest = page.evaluate("(url) => fetch(url).then((answer) => answer.json())", address)
    assert manifest["start_url"] == "/join/kept"
    assert manifest["start_url"].startswith(manifest["scope"])
    assert manifest["display"] == "standalone"
    assert {"192x192", "512x512"} <= {icon["sizes"] for icon in manifest["icons"]}
    for icon in manifest["icons"]:
        assert page.request.get(icon["src"]).ok
    assert page.evaluate(READY) in ("activating", "activated")
    session = page.context.new_cdp_session(page)
    problems = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    # Tests run in private windows, where nothing can be installed.
    assert [each["errorId"] for each in problems if each["errorId"] != "in-incognito"] == []


def test_after_one_visit_it_works_without_a_network(
    browse: Browse, server: Portal, watch: Watch
) -> None:
    watch.allow("ERR_INTERNET_DISCONNECTED")
    watch.expect("console error: .* 404")
    page = browse(server, "phone-light")
    participant = running(page, server, "kept")
    page.evaluate(READY)
    _wait_for_files(page)
    page.context.set_offline(True)
    page.reload()
    participant.says("Paused. Nothing is collected.")
    participant.tap("Resume")
    participant.tap("Still")
    participant.until(lambda: participant.collected() >= 5)
    participant.until(lambda: participant.applied() == 0)
    page.context.set_offline(False)
    participant.until_applied(1)
    answer = page.goto("/join/nowhere")
    assert answer
    assert (answer.status, answer.from_service_worker) == (404, True)
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    kept = page.evaluate(CACHES)
    assert kept["crowdml pages"] == ["/join/kept"]
    files = [paths for name, paths in kept.items() if name.startswith("crowdml files ")]
    assert len(files) == 1
    assert {"/web/joined.js", "/static/participant.css"} <= set(files[0])
    assert not any(path.startswith("/v1") for paths in kept.values() for path in paths)


def test_files_of_other_tags_replace_the_old_ones(browse: Browse, server: Portal) -> None:
    page = browse(server, "phone-light")
    page.goto("/join/kept")
    page.evaluate(READY)
    _wait_for_files(page)
    page.evaluate(
        """async () => {
            const [name] = (await caches.keys()).filter((each) => each.includes("files"));
            const old = await caches.open("crowdml files 0");
            await old.put("/web/joined.js", new Response("throw new Error('old')"));
            await caches.delete(name);
        }"""
    )
    page.reload()
    expect(page.locator("#agree")).to_be_enabled()
    names = page.evaluate("caches.keys()")
    assert "crowdml files 0" not in names
    assert len([name for name in names if "files" in name]) == 1


def test_a_kept_file_that_somebody_has_changed_is_fetched_again(
    browse: Browse, server: Portal
) -> None:
    """A worker looks when it starts; a cache of another name is never used."""
    page = browse(server, "phone-light")
    page.goto("/join/kept")
    page.evaluate(READY)
    _wait_for_files(page)
    page.evaluate(
        """async () => {
            const [name] = (await caches.keys()).filter((each) => each.includes("files"));
            for (const each of [name, "another"]) {
                const cache = await caches.open(each);
                await cache.put("/web/joined.js", new Response("document.body.remove()"));
            }
        }"""
    )
    session = page.context.new_cdp_session(page)
    session.send("ServiceWorker.enable")
    session.send("ServiceWorker.stopAllWorkers")
    page.reload()
    expect(page.locator("#agree")).to_be_enabled()
    page.reload()
    expect(page.locator("#agree")).to_be_enabled()


def _wait_for_files(page: Page) -> None:
    page.wait_for_function(
        """async () => {
            const open = await caches.match("/join/kept");
            return navigator.serviceWorker.controller && open && caches.match("/web/joined.js");
        }"""
    )
