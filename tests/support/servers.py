"""Start real servers for tests, each with a process, a free loopback port and a folder."""

import hashlib
import http.client
import json
import secrets
import sqlite3
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from crowdml.demo import ServerProcess
from crowdml.demo.launcher import HUNG_AFTER_SECONDS
from crowdml.privacy import CheckinKey, DirectionMechanism, NoiseMechanism
from crowdml.privacy.direction.channel import FIELDS
from crowdml.protocol import Task, terms_hash
from crowdml.server import Store
from crowdml.server.log.fold import Fold
from tests.support.checkins import DirectionCheckin, NoiseCheckin
from tests.support.forked_server import Forked, run_breakable, run_command

PATIENCE = HUNG_AFTER_SECONDS
LABELS = ("still", "walk", "run")
"""The labels of the usual task."""


def make_task(name: str = "activity", **changes: Any) -> Task:
    """Make a small task with Laplace noise.

    `table__key=value` changes a line of its file, and None removes the line. `start` is where its
    model starts.
    """
    start = changes.pop("start", None)
    tables: dict[str, dict[str, Any]] = {
        "": {
            "name": name,
            "title": "Activity",
            "objective": "to learn",
            "owner": "Jane Doe",
            "contact": "jane@example.org",
            "purpose": "a free app",
            "sensors": "motion",
        },
        "features": {"count": 4, "description": "energies"},
        "target": {"labels": list(LABELS)},
        "model": {"kind": "softmax"},
        "privacy": {"mechanism": "laplace", "epsilon": 1.0},
        "collection": {"batch": 3, "buffer": 30},
        "optimizer": {"kind": "sgd", "c": 0.01},
        "stop": {"updates": 100_000},
        "enrolment": {"checkins_per_minute": 1e6},
    }
    for key, value in changes.items():
        table, _, name_ = key.partition("__")
        tables[table][name_.replace("__", ".")] = value
    return Task.from_toml("\n".join(_toml(tables)), start=start)


def make_direction_task(name: str = "activity", **changes: Any) -> Task:
    """Make the same task for whole people, who check in at most ten times by default."""
    defaults = {
        "privacy__mechanism": "direction",
        "privacy__epsilon": 40.0,
        "collection__checkins": 10,
    }
    return make_task(name, **(defaults | changes))


def _toml(tables: dict[str, dict[str, Any]]) -> Iterator[str]:
    for table, entries in tables.items():
        if table:
            yield f"[{table}]"
        for key, value in entries.items():
            if value is not None:
                text = "inf" if value == float("inf") else json.dumps(value)
                yield f"{key} = {text}"


def create(database: str, *tasks: Task) -> None:
    with closing(Store(database)) as store:
        for task in tasks:
            store.create_task(task)


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class HttpClient:
    """Send HTTP requests without the device's own code."""

    def __init__(self, port: int, tls: bool = False, timeout: float = PATIENCE) -> None:
        self._port, self._timeout = port, timeout
        self._context = _any_certificate() if tls else None
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection("127.0.0.1", self._port, timeout=self._timeout)
        return http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=self._timeout, context=self._context
        )

    def call(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None = None,
        token: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        headers = dict(headers or {})
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        fresh = self._connection.sock is None
        try:
            return self._exchange(method, path, body, headers)
        except ConnectionError:
            self._connection.close()
            # A server that rejected a request without reading its body has closed the connection.
            if fresh or not isinstance(body, bytes | None):
                raise
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        return self._exchange(method, path, body, headers)

    def _exchange(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None,
        headers: dict[str, str],
    ) -> Reply:
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        answer = response.read()
        lower = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, lower, answer)

    def get(self, path: str, token: str | None = None, **headers: str) -> Reply:
        return self.call("GET", path, token=token, headers=headers)

    def close(self) -> None:
        self._connection.close()


def _any_certificate() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def eventually(true: Callable[[], bool]) -> bool:
    """Return whether the condition becomes true within the patience for a busy machine."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def nothing() -> None:
    """Do nothing before a server starts."""


class Portal(ServerProcess):
    """Run `crowdml serve`, and look at it from outside.

    A server with one process is forked from a process that has already imported everything.
    """

    @property
    def begin(self) -> Callable[[], None]:
        """Return what the server's process does first."""
        return nothing

    @property
    def work(self) -> Callable[[], None]:
        """Return what the server's process does."""
        return partial(run_command, self.begin, self.arguments[2:])

    def launch(self) -> Any:
        if self.workers > 1:
            return super().launch()
        self.folder.mkdir(parents=True, exist_ok=True)
        forked: Any = Forked(self.work, self.folder.resolve(), self._log.resolve())
        self.process = forked
        return forked

    def wire(self) -> HttpClient:
        return HttpClient(self.port, bool(self.tls))

    @contextmanager
    def connected(self) -> Iterator[HttpClient]:
        wire = self.wire()
        try:
            yield wire
        finally:
            wire.close()

    @property
    def complaints(self) -> list[str]:
        """Return what the server printed besides the usual lines."""
        usual = ("INFO ", "listening on ", "certificate fingerprint ")
        return [line for line in self.output.splitlines() if not line.startswith(usual)]

    @contextmanager
    def store(self) -> Iterator[Store]:
        """Open the database from another process, as the command line does."""
        with closing(Store(self.database)) as store:
            yield store


@dataclass
class FaultyServer(Portal):
    """Run the server as its operator does, with a database that can be made to fail."""

    settings: dict[str, Any] = field(default_factory=dict)
    host: str = "127.0.0.1"

    @property
    def fail_writes(self) -> Path:
        return self.folder / "fail-writes"

    @property
    def work(self) -> Callable[[], None]:
        options = {
            "settings": {
                "database": self.database,
                "keep_payloads": True,
                "poll_seconds": 0.1,
                "events_seconds": 0.05,
                # Some tests send as one device from many threads.
                "most_checkins_per_device": 100,
            }
            | self.settings,
            "address": {"host": self.host, "port": self.port, "tls": self.tls},
            "fail_writes": str(self.fail_writes),
        }
        return partial(run_breakable, self.begin, options)


class Start(Protocol):
    def __call__(self, *tasks: Task, tls: str | None = None, **settings: Any) -> FaultyServer: ...


@contextmanager
def server_starter(folder: Path) -> Iterator[Start]:
    """Start servers, each in its own folder, and stop all of them at the end."""
    started: list[FaultyServer] = []

    def start(*tasks: Task, tls: str | None = None, **settings: Any) -> FaultyServer:
        home = folder / f"server-{len(started)}"
        home.mkdir()
        started.append(FaultyServer(home, tls, settings=settings))
        create(started[-1].database, *tasks)
        return started[-1].start()

    try:
        yield start
    finally:
        for process in started:
            process.kill()


def enrol(wire: HttpClient, task: str = "activity", invite: str | None = None) -> str:
    """Enrol a new device, and return its token."""
    return enrolled(wire, task, invite)["token"]


def enrolled(wire: HttpClient, task: str = "activity", invite: str | None = None) -> dict[str, str]:
    """Enrol a new device, and return its name and its token."""
    terms = wire.get(f"/v1/tasks/{task}").json()["terms_sha256"]
    body = {"terms": terms} | ({} if invite is None else {"invite": invite})
    reply = wire.call("POST", f"/v1/tasks/{task}/devices", json.dumps(body).encode())
    assert reply.status == 201, reply.body
    answer: dict[str, str] = reply.json()
    return answer


def checkin(task: Task, seed: int = 0, samples: int | None = None, **changes: Any) -> bytes:
    """Make a valid check-in with noise: random, and plausible for the task's terms."""
    rng = np.random.default_rng(seed)
    terms, mechanism = task.terms, task.terms.mechanism()
    assert isinstance(mechanism, NoiseMechanism)
    n = samples or terms.collection.batch
    heldout = mechanism.n_heldout(n)
    bound = min(mechanism.plausible_gradient(n - heldout), 2**22)
    message = NoiseCheckin(
        id=secrets.token_urlsafe(16),
        version=0,
        terms=terms_hash(terms.text),
        samples=n,
        heldout=heldout,
        errors=int(rng.integers(0, (heldout or n) + 1)),
        labels=tuple(rng.integers(0, n + 1, terms.n_classes).tolist()),
        grid=mechanism.grid(n - heldout),
        gradient=rng.integers(-bound, bound + 1, mechanism.size).astype("<i4").tobytes(),
    )
    return msgspec.json.encode(msgspec.structs.replace(message, **changes))


def direction_checkin(
    task: Task, device: str, number: int = 1, seed: int = 0, **changes: Any
) -> bytes:
    """Make a valid check-in of one number, in the role that this device has in it."""
    rng = np.random.default_rng(seed)
    terms, mechanism = task.terms, task.terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism)
    key = CheckinKey(terms_hash(terms.text), device, number)
    role = mechanism.roles.role_of(key)
    message = DirectionCheckin(
        id=secrets.token_urlsafe(16),
        version=0,
        terms=key.terms_sha256,
        number=number,
        **{FIELDS[role]: int(rng.integers(mechanism.choice_of(role).k))},
    )
    return msgspec.json.encode(msgspec.structs.replace(message, **changes))


def problem_kind(reply: Reply) -> str:
    assert reply.headers["content-type"].startswith("application/problem+json"), reply
    document = reply.json()
    assert document["status"] == reply.status
    kind: str = document["type"].removeprefix("urn:crowdml:problem:")
    return kind


def recompute(database: str, name: str = "activity") -> Fold:
    """Compute the fold of the whole log again, without snapshots."""
    with closing(Store(database)) as store:
        row = store.task(name)
        fold = Fold(row.task, terms_hash(row.terms))
        for entry in store.log(row.id):
            fold.apply(entry)
    return fold


def rows(file: Path, *tables: str) -> str:
    """Hash everything in these tables, without touching the database."""
    digest = hashlib.sha256()
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=PATIENCE)) as database:
        for table in tables:
            for row in database.execute(f"SELECT * FROM {table} ORDER BY 1, 2"):
                digest.update(repr(row).encode())
    return digest.hexdigest()
