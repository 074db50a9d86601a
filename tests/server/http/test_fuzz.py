"""Send requests generated from the server's own document, by enrolled devices.

`FUZZED=10000 pytest tests/server/http/test_fuzz.py` makes ten thousand; the default is a few
hundred.
"""

import json
import os
from collections import Counter
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.servers import (
    FaultyServer,
    HttpClient,
    Reply,
    checkin,
    direction_checkin,
    enrolled,
    make_direction_task,
    make_task,
)

FUZZED = int(os.environ.get("FUZZED", "400"))
TASKS = {
    "activity": make_task("activity"),
    "heldout": make_task("heldout", collection__heldout=0.34),
}
PEOPLE = {"people": make_direction_task("people", collection__evaluators=0.5)}
HALF = settings(
    max_examples=FUZZED // 2, database=None, suppress_health_check=list(HealthCheck), deadline=None
)
STREAM = "/v1/tasks/{task}/events"
"""The path of the event stream, which never ends: see `test_api`."""


class Devices:
    """Keep enrolled devices, and enrol new ones when the fuzzer made one leave."""

    def __init__(self, wire: HttpClient) -> None:
        self._wire = wire
        self._known: dict[str, dict[str, str]] = {}
        self.statuses: Counter[int] = Counter()

    def of(self, task: str) -> dict[str, str]:
        if task not in self._known:
            self._known[task] = enrolled(self._wire, task)
        return self._known[task]

    def call(self, method: str, path: str, body: bytes | None, task: str) -> Reply:
        reply = self._wire.call(method, path, body, self.of(task)["token"])
        self.statuses[reply.status] += 1
        if reply.status == 401 or method == "DELETE":
            self._known.pop(task, None)
        return reply

    def passed(self) -> float:
        """Return the share of requests without an authentication error or an unknown path."""
        rejected = sum(self.statuses[status] for status in (401, 404, 405))
        return 1 - rejected / self.statuses.total()


@pytest.fixture(scope="module")
def schema(server: FaultyServer) -> Any:
    with server.connected() as wire:
        return schemathesis.openapi.from_dict(wire.get("/v1/openapi.json").json())


def test_what_the_document_allows_and_does_not(schema: Any, server: FaultyServer) -> None:
    """Call every operation with parameters and bodies that match its schema, and with others."""
    operations = [found.ok() for found in schema.get_all_operations()]
    cases = st.one_of([each.as_strategy() for each in operations if each.path != STREAM])
    with server.connected() as wire:
        devices = Devices(wire)

        @HALF
        @given(cases, st.sampled_from([*TASKS, *PEOPLE]))
        def fuzz(case: Any, task: str) -> None:
            path = case.operation.path.replace("{task}", task)
            if isinstance(case.query, dict) and case.query:
                path += "?" + urlencode(case.query, errors="replace")
            body = case.body
            if not isinstance(body, bytes | None):
                body = None if type(body).__name__ == "NotSet" else json.dumps(body).encode()
            reply = devices.call(case.method, path, body, task)
            assert reply.status < 500, (case, reply)

        fuzz()
        assert devices.passed() > 0.5, devices.statuses


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def test_checkins_that_are_almost_right(server: FaultyServer) -> None:
    """Send valid check-ins in which some field, some byte or nothing was changed."""
    with server.connected() as wire:
        devices = Devices(wire)

        @HALF
        @given(st.data())
        def fuzz(data: st.DataObject) -> None:
            task = data.draw(st.sampled_from([*TASKS, *PEOPLE]))
            body = _changed(_valid(task, devices, data), data)
            reply = devices.call("POST", f"/v1/tasks/{task}/checkins", body, task)
            assert reply.status < 500, (body, reply)

        fuzz()
        assert devices.passed() > 0.9, devices.statuses
        assert devices.statuses[200] > 0.02 * devices.statuses.total(), devices.statuses


def _changed(body: bytes, data: st.DataObject) -> bytes:
    """Return the body with another field, another byte, or unchanged."""
    what = data.draw(st.sampled_from(["field", "byte", "nothing"]))
    if what == "field":
        message: dict[str, Any] = json.loads(body)
        message[data.draw(st.sampled_from(sorted(message)))] = data.draw(anything)
        return json.dumps(message).encode("utf-8", "surrogatepass")
    if what == "byte":
        at, byte = data.draw(st.integers(0, len(body) - 1)), data.draw(st.integers(0, 255))
        return body[:at] + bytes([byte]) + body[at + 1 :]
    return body


def _valid(task: str, devices: Devices, data: st.DataObject) -> bytes:
    seed = data.draw(st.integers(0, 100))
    if task in PEOPLE:
        number = data.draw(st.integers(1, 10))
        return direction_checkin(PEOPLE[task], devices.of(task)["device"], number, seed)
    return checkin(TASKS[task], seed)
