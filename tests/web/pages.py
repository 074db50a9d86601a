"""Open pages of a real browser that import the browser device, at a real server's address."""

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing

from playwright.sync_api import Page, Request, Route

from crowdml.protocol import TERMS_HEADER, Task, terms_hash
from tests.support.servers import Portal, create

BLANK = "/web/index.js"
"""A script that is shown as text: a page without code, at the server's address."""
LOAD = """async (task) => {
    const names = ["index", "protocol/codec", "privacy/grid"];
    const inside = await Promise.all(names.map((name) => import(`/web/${name}.js`)));
    Object.assign(globalThis, { task, web: Object.assign({}, ...inside) });
}"""


class Tabs:
    """Open tabs of one browser profile at one portal; tabs share what they store.

    Args:
        new: Opens a tab.
        task: The task that the tabs take part in.
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
    """Add tasks to a running server, and wait until the server has noticed."""
    create(server.database, *tasks)
    with server.connected() as wire:
        for task in tasks:
            while wire.get(f"/v1/tasks/{task.name}").status != 200:
                time.sleep(0.02)
    return server


def change_task(server: Portal, task: Task) -> None:
    """Change a task's terms under the same name, which an owner must not do."""
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
    """Let this tab see other terms of the task from now on."""
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
    """Return how many check-ins the server has applied."""
    with server.connected() as wire:
        return int(json.loads(wire.get(f"/v1/tasks/{task}").body)["version"])
