"""A portal under a path of its own: no page, script or worker asks outside of it."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import Watch
from tests.browser.conftest import Browse
from tests.browser.participants import Participant, phone_task
from tests.support.servers import Portal, create

KEPT = """async () => {
    const wanted = ["/crowd/join/moving", "/crowd/web/joined.js"];
    const found = await Promise.all(wanted.map((path) => caches.match(path)));
    return navigator.serviceWorker.controller !== null && found.every(Boolean);
}"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Portal]:
    server = Portal(tmp_path)
    server.options = ("--public-url", f"{server.url}/crowd")
    create(server.database, phone_task())
    with server:
        with server.store() as store:
            store.owners.add("ada", "correct horse")
        yield server


def test_everything_stays_under_the_prefix(browse: Browse, server: Portal, watch: Watch) -> None:
    watch.allow("ERR_INTERNET_DISCONNECTED")
    page = browse(server, "phone-light")
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    page.goto("/crowd/")
    page.get_by_role("link", name="What is the owner of this phone doing?").click()
    page.get_by_role("link", name="Take part").click()
    expect(page).to_have_url(f"{server.url}/crowd/join/moving")
    page.goto("/crowd/tasks/moving/join")
    expect(page).to_have_url(f"{server.url}/crowd/join/moving")
    page.goto("/crowd/tasks/moving/join#other")
    page.get_by_role("link", name=f"{server.url}/crowd/join/moving").click()
    participant = Participant(page, server).open("/crowd/join/moving").agree(1000)
    participant.tap("Still")
    participant.until_applied(1)
    participant.until(lambda: bool(page.evaluate(KEPT)))
    page.context.set_offline(True)
    page.reload()
    participant.says("Paused. Nothing is collected.")
    page.context.set_offline(False)
    page.goto("/crowd/owner/new")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile(f"^{server.url}/crowd/owner/new\\?draft="))
    outside = {url for url in asked if not urlsplit(url).path.startswith("/crowd/")}
    assert {url for url in outside if urlsplit(url).path != "/favicon.ico"} == set()
    page.goto("about:blank")  # before the server goes
