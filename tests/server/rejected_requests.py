"""Send requests that must be rejected, and compare everything that they must not change."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from crowdml.protocol import PROBLEMS, Task
from tests.support.servers import FaultyServer, HttpClient, Reply, problem_kind, rows
from tests.wrong_inputs.expect_error import RAW

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


def joined(*tables: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Join the bad values of each field."""
    return {field: [v for table in tables for v in table.get(field, [])] for field in tables[0]}


@dataclass
class Bench:
    """Hold a task with a history and one enrolled device, and compare states."""

    server: FaultyServer
    wire: HttpClient
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

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Check that nothing of all this changes the state."""
        before = self.everything()
        yield
        assert self.everything() == before

    def expect(self, send: Callable[[], Reply], kind: str, *words: str) -> Reply:
        """Check that the request is rejected as this kind, says why, and changes nothing."""
        with self.unchanged():
            return self.rejected(send(), kind, *words)

    def rejected(self, reply: Reply, kind: str, *words: str) -> Reply:
        """Check that the answer is a problem of this kind, says why, and has no raw words."""
        assert problem_kind(reply) == kind, reply.body
        assert reply.status == PROBLEMS[kind].status
        document = reply.json()
        assert document["title"] == PROBLEMS[kind].title
        for word in words:
            assert word in document["detail"], document["detail"]
        assert not RAW.search(document["detail"]), document["detail"]
        assert len(document["detail"]) < 2000, document["detail"]
        return reply
