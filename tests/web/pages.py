"""Pages of a real browser that import the browser device, at the address of a real server."""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, Request, Route

import crowdml
from crowdml.protocol import TERMS_HEADER, Task, terms_hash
from tests.servers import Portal, create

__all__ = ["Tabs", "add_task", "change_task", "claim", "tabs", "version"]

WEB = Path(crowdml.__file__).parent / "web"
BLANK = "/web/blank.html"
LOAD = """async (task) => {
    const inside = await Promise.all(["index", "codec", "grid"].map((m) => import(`/web/${m}.js`)));
    Object.assign(globalThis, { task, web: Object.assign({}, ...inside) });
}"""
TYPES = {".js": "text/javascript", ".html": "text/html", ".json": "application/json"}


class Tabs:
    """One browser profile at one address: what its tabs store, they share."""

    def __init__(self, context: BrowserContext, url: str, task: str) -> None:
        self.context, self.url, self.task = context, url, task
        self.bodies: list[bytes] = []
        context.on("request", self._note)
        # The one line to change where the server itself serves crowdml/web at /web/: then only
        # the blank page is made here.
        context.route(f"{url}/web/**", _serve)

    def open(self, script: str = "() => {}") -> Page:
        page = self.context.new_page()
        page.goto(self.url + BLANK)
        page.evaluate(LOAD, self.task)
        page.evaluate(script)
        return page

    def _note(self, request: Request) -> None:
        if request.url.endswith("/checkins"):
            self.bodies.append(request.post_data_buffer or b"")


def _serve(route: Route) -> None:
    path = route.request.url.split("/web/")[1]
    file = WEB / path
    body = b"<!doctype html><title>A blank page</title>" if path == "blank.html" else None
    if body is None and not file.is_file():
        route.fulfill(status=404)
        return
    content = file.read_bytes() if body is None else body
    route.fulfill(body=content, content_type=TYPES[file.suffix])


@contextmanager
def tabs(browser: Browser, url: str, task: str = "activity") -> Iterator[Tabs]:
    context = browser.new_context()
    try:
        yield Tabs(context, url, task)
    finally:
        context.close()


def add_task(server: Portal, task: Task) -> None:
    """A new task on a running server, once the server has noticed."""
    create(server.database, task)
    with server.connected() as wire:
        while wire.get(f"/v1/tasks/{task.name}").status != 200:
            time.sleep(0.02)


def change_task(server: Portal, task: Task) -> None:
    """What an owner must not do behind the crowd's back: other terms under the same name."""
    server.stop()
    folder = server.folder / task.name
    folder.mkdir()
    other = folder / "crowd.db"
    create(f"sqlite:///{other}", task)
    with closing(sqlite3.connect(other)) as source, closing(sqlite3.connect(server.file)) as target:
        row = source.execute("SELECT document, terms FROM tasks").fetchone()
        target.execute("UPDATE tasks SET document = ?, terms = ? WHERE name = ?", (*row, task.name))
        target.commit()
    server.start()


def claim(page: Page, task: Task) -> None:
    """From now on this tab hears that the task has other terms."""
    text = task.terms.text
    changes = {"terms": text, "terms_sha256": terms_hash(text)}

    def describe(route: Route) -> None:
        route.fulfill(json=route.fetch().json() | changes)

    def check_out(route: Route) -> None:
        answer = route.fetch()
        headers = answer.headers | {TERMS_HEADER.lower(): changes["terms_sha256"]}
        route.fulfill(response=answer, headers=headers)

    page.route(f"**/v1/tasks/{task.name}", describe)
    page.route(f"**/v1/tasks/{task.name}/model", check_out)


def version(server: Portal, task: str) -> int:
    """How many check-ins the server has applied."""
    with server.connected() as wire:
        return int(json.loads(wire.get(f"/v1/tasks/{task}").body)["version"])
