"""Send requests that must be rejected, and compare everything that they must not change."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from crowdml.protocol import PROBLEMS, Task
from tests.support.servers import Process, Reply, Wire, problem_kind, rows

__all__ = ["MISSING", "OUT_OF_RANGE", "WRONG_TYPES", "Bench", "cases"]

TABLES = ("tasks", "devices", "invites", "checkins", "snapshots")
MISSING = msgspec.UNSET

WRONG_TYPES: dict[str, list[Any]] = {
    "id": [MISSING, None, 5, True, [], {}],
    "version": [MISSING, None, "0", 0.5, 1.0, True, [0]],
    "terms": [MISSING, None, 5, [], {}],
}
"""Wrong types for the fields that every check-in has."""

OUT_OF_RANGE: dict[str, list[Any]] = {
    "id": ["", "short", "x" * 65, "a space is in here", "semi;colon;semi;colon", "ünïcödé-ünïcödé"],
    "version": [-1],
    "terms": ["", "0" * 63, "0" * 65, "G" * 64, "A" * 64],
}


def cases(*tables: dict[str, list[Any]]) -> list[Any]:
    """Pair each field with each of its bad values."""
    return [
        pytest.param(field, value, id=f"{field}={value!r}"[:40])
        for table in tables
        for field, values in table.items()
        for value in values
    ]


@dataclass
class Bench:
    """Hold a task with a history and one enrolled device, and compare states."""

    server: Process
    wire: Wire
    task: Task
    token: str

    def check_in(self, body: bytes, task: str = "activity", token: str | None = None) -> Reply:
        path = f"/v1/tasks/{task}/checkins"
        return self.wire.call("POST", path, body, self.token if token is None else token)

    def everything(self) -> dict[str, object]:
        statistics = self.wire.get("/v1/tasks/activity/stats").json()
        # This number changes with the clock alone.
        del statistics["checkins_per_minute"]
        return {
            "statistics": statistics,
            "model": self.wire.get("/v1/tasks/activity/export?format=json").body,
            "checkout": self.wire.get("/v1/tasks/activity/model", self.token).body,
            "rows": rows(self.server.file, *TABLES),
        }

    def expect(self, send: Callable[[], Reply], kind: str, *words: str) -> Reply:
        """Check that the request is rejected as this kind, says why, and changes nothing."""
        before = self.everything()
        reply = send()
        assert problem_kind(reply) == kind, reply.body
        assert reply.status == PROBLEMS[kind].status
        document = reply.json()
        assert document["title"] == PROBLEMS[kind].title
        for word in words:
            assert word in document["detail"], document["detail"]
        assert self.everything() == before
        return reply
