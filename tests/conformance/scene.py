"""Serve scripted answers to devices of any kind: one scene for each task, named after the task."""

import base64
import json
import mimetypes
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import crowdml
from crowdml.protocol import PROBLEMS, Task, terms_hash
from tests.device.scripted_server import Answer
from tests.support.servers import make_task

WEB = Path(crowdml.__file__).parent / "web"
BLANK = b"<!doctype html><title>A blank page</title>"
BATCH, SIZE = 3, 12
PARAMETERS = base64.b64encode(bytes(4 * SIZE)).decode()
COST = 1.0
"""The ε of a check-in."""

RETRY_AFTER = 500
"""Seconds that the server asks a device to wait, where it does."""

APPLIED: Answer = (200, {}, b'{"version": 1, "status": "applied"}')


def make(
    name: str, checkins: int, purpose: str = "a free app", evaluators: float | None = None
) -> Task:
    """Make the smallest task whose mechanism every device knows."""
    return make_task(
        name, __purpose=purpose, privacy__mechanism="direction", privacy__epsilon=COST * checkins,
        privacy__directions=8, collection__batch=BATCH,
        collection__checkins=checkins, collection__evaluators=evaluators,
    )  # fmt: skip


def problem(kind: str, status: int, **more: object) -> Answer:
    document = {"type": f"urn:crowdml:problem:{kind}", "detail": f"it is {kind}.", **more}
    return status, {}, json.dumps(document).encode()


def answer_of(event: str) -> Answer | None:
    """Return the server's answer for an event of the table."""
    if event == "no network":
        return None
    if event == "unknown":
        return 403, {}, b"<html>log in</html>"
    if event == "foreign":
        return 403, {}, b'{"type": "https://proxy.example/blocked", "detail": "log in"}'
    if event in ("applied", "duplicate"):
        return 200, {}, json.dumps({"version": 1, "status": event}).encode()
    busy = event in ("too-frequent", "unavailable")
    more = {"retry_after": RETRY_AFTER} if busy else {}
    return problem(event, PROBLEMS[event].status, **more)


@dataclass(frozen=True)
class Heard:
    """Record a request: join, check-out, check-in or leave."""

    what: str
    body: bytes = b""
    query: str = ""


@dataclass
class Scene:
    """Hold one task with its scripted answers, and the requests of its device."""

    name: str
    checkins: int = 8
    evaluators: float | None = None
    state: str = "running"
    lies: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, Answer | None] = field(default_factory=dict)
    heard: list[Heard] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.terms = make(self.name, self.checkins, evaluators=self.evaluators).terms.text

    def change_terms(self) -> None:
        """Replace the terms by others with the same ε."""
        self.terms = make(self.name, self.checkins, "another purpose").terms.text

    def says(self, path: str, answer: Answer | None) -> None:
        """Give this answer from now on to all requests whose path has this ending."""
        self.raw[path] = answer

    def answer(self, method: str, path: str, body: bytes) -> Answer | None:
        last, _, query = path.rpartition("/")[2].partition("?")
        if method == "DELETE":
            self.heard.append(Heard("leave"))
            return self.raw.get(last, (204, {}, b""))
        if last == "checkins":
            self.heard.append(Heard("check-in", body))
        if last == "model":
            self.heard.append(Heard("check-out", query=query))
        if last == "devices":
            self.heard.append(Heard("join"))
        if last in self.raw:
            return self.raw[last]
        return 200, {"Crowdml-Terms": terms_hash(self.terms)}, json.dumps(self._view(last)).encode()

    def _view(self, last: str) -> dict[str, Any]:
        if last == "checkins":
            return {"version": 1, "status": "applied"}
        if last == "devices":
            return {"device": "ana", "token": "secret"}
        if last == "model":
            return {"version": 0, "state": self.state, "parameters": PARAMETERS} | self.lies
        return {
            "name": self.name, "title": "Activity", "objective": "to learn", "state": self.state,
            "private": True, "enrolment": "open", "algorithm": "sgd", "version": 0, "devices": 1,
            "terms": self.terms, "terms_sha256": terms_hash(self.terms),
        } | self.lies  # fmt: skip


class Stage:
    """Serve all scenes at one address, together with the browser device."""

    def __init__(self) -> None:
        self.scenes: dict[str, Scene] = {}

    def scene(
        self, checkins: int = 8, name: str | None = None, evaluators: float | None = None
    ) -> Scene:
        """Make a new scene. Roles follow from its name."""
        scene = Scene(name or f"scene-{len(self.scenes)}", checkins, evaluators)
        self.scenes[scene.name] = scene
        return scene

    def answer(self, method: str, path: str, body: bytes) -> Answer | None:
        if path.startswith("/v1/tasks/"):
            said = self.scenes[path.split("/")[3]].answer(method, path, body)
            # One connection for each request: a device tries a stale connection twice.
            return said and (said[0], {"Connection": "close"} | said[1], said[2])
        file = WEB / path.removeprefix("/web/")
        if path == "/" or not file.is_file():
            return 200 if path == "/" else 404, {"Content-Type": "text/html"}, BLANK
        kind = mimetypes.guess_type(file)[0] or "application/octet-stream"
        return 200, {"Content-Type": kind}, file.read_bytes()
