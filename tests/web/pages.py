"""Pages of a real browser that import the browser device, at the address of a real server."""

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing

from playwright.sync_api import Page, Request, Route

from crowdml.protocol import TERMS_HEADER, Task, terms_hash
from tests.servers import Portal, create

__all__ = ["Tabs", "add_tasks", "change_task", "claim", "version"]

BLANK = "/web/index.js"
"""Shown as text: a page that does nothing, at the address of the server."""
LOAD = """async (task) => {
    const inside = await Promise.all(["index", "codec", "grid"].map((m) => import(`/web/${m}.js`)));
    Object.assign(globalThis, { task, web: Object.assign({}, ...inside) });
}"""


class Tabs:
    """Tabs of one browser profile at one portal: what they store, they share.

    Args:
        new: Opens a tab.
        task: The one that they take part in.
    """

    def __init__(self, new: Callable[[], Page], task: str = "activity") -> None:
        self.task = task
        self.bodies: list[bytes] = []
        self._new = new

    def open(self, script: str = "() => {}") -> Page:
        page = self._new()
        page.on("request", self._note)
        page.goto(BLANK)
        page.evaluate(LOAD, self.task)
        page.evaluate(script)
        return page

    def _note(self, request: Request) -> None:
        if request.url.endswith("/checkins"):
            self.bodies.append(request.post_data_buffer or b"")


def add_tasks(server: Portal, *tasks: Task) -> Portal:
    """New tasks on a running server, once the server has noticed."""
    create(server.database, *tasks)
    with server.connected() as wire:
        for task in tasks:
            while wire.get(f"/v1/tasks/{task.name}").status != 200:
                time.sleep(0.02)
    return server


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
