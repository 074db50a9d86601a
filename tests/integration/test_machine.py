"""Connect devices and a server by a network that drops, doubles and delays messages.

Hypothesis makes up the events, and crashes either side in between. Both sides are real, with their
files; only the wire is simulated. `RUNS=1000 pytest tests/integration/test_machine.py` tries a
thousand stories; the default is a few.
"""

import asyncio
import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from crowdml.checks.programs import MEMORY
from crowdml.device import CheckedOut, Device, RetryTimer
from crowdml.errors import Unreachable
from crowdml.privacy import Role
from crowdml.protocol import (
    TERMS_HEADER,
    CheckinAnswer,
    Checkout,
    Enrol,
    Enrolled,
    TaskView,
    read_problem,
)
from crowdml.server import Settings, Store
from crowdml.server.http.routes import create_app
from crowdml.server.service.service import Service
from tests.integration.crowd import FEATURES, PARITY, uses, without_noise
from tests.support.servers import create

RUNS = int(os.environ.get("RUNS", "15"))
BATCH = 3
DEVICES = 2
STEPS = ["checked out", "sanitised", "stored", "booked", "sent", "acknowledged"]
FAULTS = ["drop the request", "drop the answer", "double it", "delay it"]

T = TypeVar("T", bound=msgspec.Struct)


class Crash(Exception):
    """Ends the process here, whatever it was about to do."""


class Server:
    """Run the application with its database, without a socket."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._loop = asyncio.new_event_loop()
        self._start()

    def _start(self) -> None:
        settings = Settings(
            f"sqlite:///{self._database}", keep_payloads=True, snapshot_every=4, poll_seconds=0.01
        )
        app = create_app(settings)
        self._app, self._life = app, app.router.lifespan_context(app)
        self._loop.run_until_complete(self._life.__aenter__())

    def restart(self) -> None:
        self._loop.run_until_complete(self._life.__aexit__(None, None, None))
        self._start()

    def crash(self) -> None:
        """Stop without a goodbye or a snapshot: the next start has only the log."""
        self._loop.run_until_complete(self._end())
        self._start()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        service: Service = self._app.state.service
        await service.threads.close()

    def close(self) -> None:
        self._loop.run_until_complete(self._life.__aexit__(None, None, None))
        self._loop.close()
        gc.unfreeze()

    def call(
        self, method: str, path: str, token: str = "", body: bytes = b""
    ) -> tuple[bytes, dict[str, str]]:
        """Return the answer and its headers; raise `Rejected` for a rejection."""
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = {
            "host": "here",
            "content-length": str(len(body)),
            "authorization": f"Bearer {token}",
        }
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "state": {},
        }  # fmt: skip
        self._loop.run_until_complete(self._app(scope, receive, send))
        status = sent[0]["status"]
        answer = b"".join(message.get("body", b"") for message in sent[1:])
        assert status < 500, answer
        if status >= 400:
            raise read_problem(status, answer)
        return answer, {k.decode().lower(): v.decode() for k, v in sent[0]["headers"]}


class Network:
    """Carry messages between a device and the server. `faults` are the failures to come."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.faults: list[str] = []
        self.late: list[tuple[str, bytes]] = []
        self.sent: set[bytes] = set()

    def _get(self, kind: type[T], path: str = "", token: str = "") -> tuple[T, dict[str, str]]:
        answer, headers = self._server.call("GET", f"/v1/tasks/activity{path}", token)
        return msgspec.json.decode(answer, type=kind), headers

    def task(self) -> TaskView:
        return self._get(TaskView)[0]

    def enrol(self, message: Enrol) -> Enrolled:
        body = msgspec.json.encode(message)
        answer, _ = self._server.call("POST", "/v1/tasks/activity/devices", body=body)
        return msgspec.json.decode(answer, type=Enrolled)

    def checkout(self, token: str, role: Role | None = None) -> CheckedOut:
        query = "" if role is None else f"?role={role}"
        checkout, headers = self._get(Checkout, "/model" + query, token)
        return CheckedOut(checkout, headers[TERMS_HEADER.lower()])

    def checkin(self, token: str, body: bytes) -> CheckinAnswer:
        fault = self.faults.pop(0) if self.faults else ""
        self.sent.add(body)
        if fault == "delay it":
            self.late.append((token, body))
        if fault in ("drop the request", "delay it"):
            raise Unreachable("nothing arrived.")
        answer = self.deliver(token, body)
        if fault == "drop the answer":
            raise Unreachable("no answer.")
        return self.deliver(token, body) if fault == "double it" else answer

    def deliver(self, token: str, body: bytes) -> CheckinAnswer:
        answer, _ = self._server.call("POST", "/v1/tasks/activity/checkins", token, body)
        return msgspec.json.decode(answer, type=CheckinAnswer)

    def leave(self, token: str) -> None:
        pass

    def export(self) -> bytes:
        raise Unreachable("there is no model.")

    def close(self) -> None:
        pass


class Story(RuleBasedStateMachine):
    """Give every sample its own trace, so that the log shows which samples were used."""

    devices = st.integers(0, DEVICES - 1)

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY, prefix="story-"))
        shutil.copy(template(), self.folder / "server.db")
        self.server = Server(self.folder / "server.db")
        self.networks = [Network(self.server) for _ in range(DEVICES)]
        self.crash_at = [""] * DEVICES
        self.open = [self.start(i) for i in range(DEVICES)]
        self.added: list[list[int]] = [[] for _ in range(DEVICES)]

    def start(self, i: int) -> Device:
        def on_step(step: str) -> None:
            if step == self.crash_at[i]:
                raise Crash

        return Device.join(
            "https://here", "activity", file=self.folder / f"{i}" / "device",
            accept_no_privacy=True, transport=self.networks[i],
            retry_timer=RetryTimer(base=0.0, slot=0.0), on_step=on_step,
        )  # fmt: skip

    @contextmanager
    def may_crash(self, i: int) -> Iterator[None]:
        try:
            yield
        except Crash:
            self.crash_at[i] = ""
            self.open[i].close()
            self.open[i] = self.start(i)

    @rule(i=devices, count=st.integers(1, 4))
    def add(self, i: int, count: int) -> None:
        for _ in range(count):
            number = sum(map(len, self.added))
            if number == FEATURES:
                return
            # A sample is on disk before anything else happens, so a crash keeps it.
            self.added[i].append(number)
            with self.may_crash(i):
                self.open[i].add(np.eye(FEATURES)[number], PARITY[number % 2])

    @rule(i=devices)
    def sync(self, i: int) -> None:
        with self.may_crash(i):
            self.open[i].sync()

    @rule(i=devices, fault=st.sampled_from(FAULTS))
    def trouble(self, i: int, fault: str) -> None:
        self.networks[i].faults.append(fault)

    @rule(i=devices, step=st.sampled_from(STEPS))
    def crash(self, i: int, step: str) -> None:
        self.crash_at[i] = step

    @rule(i=devices)
    def arrive_late(self, i: int) -> None:
        if self.networks[i].late:
            self.networks[i].deliver(*self.networks[i].late.pop())

    @rule(suddenly=st.booleans())
    def restart(self, suddenly: bool) -> None:
        if suddenly:
            self.server.crash()
        else:
            self.server.restart()

    @invariant()
    def nothing_is_sent_unbooked(self) -> None:
        """Check that a ledger has an event for each message, and never two for the same samples."""
        for i, device in enumerate(getattr(self, "open", [])):
            n_messages = len(device._store.answers)
            assert len(device.ledger.events) == n_messages
            assert len(self.networks[i].sent) <= n_messages
            used = sum(event.n_samples for event in device.ledger.events)
            assert used + device.n_samples == len(self.added[i])

    def teardown(self) -> None:
        if not hasattr(self, "open"):
            return
        try:
            self.heal()
            self.check()
        finally:
            for device in self.open:
                device.close()
            self.server.close()
            shutil.rmtree(self.folder)

    def heal(self) -> None:
        """Repair the network, and deliver what was delayed."""
        for i, network in enumerate(self.networks):
            self.crash_at[i] = ""
            network.faults.clear()
            while network.late:
                self.arrive_late(i)
            for _ in range(FEATURES):
                self.open[i].sync()
            assert not self.open[i].pending
            assert self.open[i].n_samples < BATCH

    def check(self) -> None:
        """Check that every message is in the log once, and every sample in one message."""
        with closing(Store(f"sqlite:///{self.folder / 'server.db'}")) as store:
            log = list(store.log(store.task("activity").id))
        ids = [entry.id for entry in log]
        written = [checkin for device in self.open for checkin in device._store.answers]
        assert sorted(ids) == sorted(written)
        assert len(set(ids)) == len(ids)
        assert all(
            answer in ("applied", "duplicate")
            for device in self.open
            for answer in device._store.answers.values()
        )
        waiting = sum(device.n_samples for device in self.open)
        used = uses(log)
        assert used.max(initial=0) <= 1
        assert used.sum() + waiting == sum(map(len, self.added))


def template() -> Path:
    """Make a database with the task once."""
    file = Path(tempfile.gettempdir()) / f"crowdml-machine-{os.getpid()}.db"
    if not file.exists():
        create(f"sqlite:///{file}", without_noise())
    return file


TestStory = Story.TestCase
TestStory.settings = settings(
    max_examples=RUNS,
    stateful_step_count=30,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
