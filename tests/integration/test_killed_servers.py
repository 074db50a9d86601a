"""Kill servers under load: no acknowledged check-in is lost or counts twice, and servers agree.

`KILLS=300 pytest tests/integration/test_killed_servers.py` takes ten minutes.
"""

import http.client
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.protocol import Task
from crowdml.server import Store
from tests.support.postgres import Postgres, running_postgres
from tests.support.servers import (
    FaultyServer,
    HttpClient,
    checkin,
    create,
    direction_checkin,
    enrolled,
    eventually,
    make_direction_task,
    make_task,
    recompute,
)

KILLS = int(os.environ.get("KILLS", "3"))
CLIENTS = 4
LOAD = 20
"""The least number of check-ins that are acknowledged between two kills."""
CHECKINS = "/v1/tasks/activity/checkins"


@dataclass
class Client:
    """Send one check-in after the other to any of the servers, each until it is answered.

    A check-in that is not acknowledged is sent again with the same bytes, as every device does.
    """

    nodes: list[FaultyServer]
    task: Task
    joined: dict[str, str]
    number: int
    stop: threading.Event
    acknowledged: dict[str, int] = field(default_factory=dict)
    rejected: Counter[int] = field(default_factory=Counter)

    def body(self, sent: int) -> bytes:
        seed = self.number * 1_000_000 + sent
        if self.task.terms.mechanism_name == "direction":
            return direction_checkin(self.task, self.joined["device"], sent, seed)
        return checkin(self.task, seed, samples=3 + seed % 5)

    def run(self) -> None:
        moments, sent = random.Random(self.number), 0
        with ExitStack() as stack:
            wires = [stack.enter_context(node.connected()) for node in self.nodes]
            while not self.stop.is_set():
                sent += 1
                body, answer = self.body(sent), None
                while answer is None and not self.stop.wait(0.02):
                    answer = self._send(moments.choice(wires), body)
                if answer is not None:
                    self.acknowledged[json.loads(body)["id"]] = answer

    def _send(self, wire: HttpClient, body: bytes) -> int | None:
        try:
            reply = wire.call("POST", CHECKINS, body, self.joined["token"])
        except (OSError, http.client.HTTPException):
            return None
        if reply.status == 200:
            return int(reply.json()["version"])
        self.rejected[reply.status] += 1
        return None


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """Start a PostgreSQL that a test may stop."""
    with running_postgres() as postgres:
        yield postgres


def test_three_on_postgresql(own_postgres: Postgres, tmp_path: Path) -> None:
    """Kill the database too. Check-ins are one small number each, and protect whole people."""
    task = make_direction_task(
        collection__checkins=1_000_000, privacy__epsilon=4e5, optimizer__c=None
    )

    def restart() -> None:
        own_postgres.stop("immediate")
        own_postgres.start()

    hammer(own_postgres.make("crowd"), tmp_path, task, 3, restart, snapshot_every=50)


def test_three_on_sqlite(tmp_path: Path) -> None:
    hammer(f"sqlite:///{tmp_path / 'shared.db'}", tmp_path, make_task(), 3, snapshot_every=100)


def test_one_that_takes_snapshots_all_the_time(tmp_path: Path) -> None:
    task = make_task(optimizer__kind="adagrad", optimizer__averaging=2.0, stop__window=20)
    database = f"sqlite:///{tmp_path / 'own.db'}"
    hammer(database, tmp_path, task, 1, snapshot_every=3, largest_batch=4)


def hammer(
    database: str,
    folder: Path,
    task: Task,
    n_nodes: int,
    restart: Callable[[], None] | None = None,
    **settings: Any,
) -> None:
    create(database, task)
    nodes = [
        FaultyServer(folder / f"node-{n}", shared=database, settings=settings)
        for n in range(n_nodes)
    ]
    stop = threading.Event()
    with ExitStack() as stack:
        for node in nodes:
            stack.callback(node.kill)
            node.start()
        with nodes[0].connected() as wire:
            joined = [enrolled(wire) for _ in range(CLIENTS)]
        clients = [Client(nodes, task, each, i, stop) for i, each in enumerate(joined)]
        threads = [threading.Thread(target=client.run) for client in clients]
        for thread in threads:
            thread.start()
        try:
            _strike(nodes, clients, restart)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        version = max(v for client in clients for v in client.acknowledged.values())
        shown = [_shown(node, version) for node in nodes]
    busy = {status for client in clients for status in client.rejected}
    assert busy <= ({503} if n_nodes > 1 else set())
    _check(database, task, clients, shown)


def _has_acknowledged(clients: list[Client], enough: int) -> bool:
    return _n_acknowledged(clients) >= enough


def _strike(
    nodes: list[FaultyServer], clients: list[Client], restart: Callable[[], None] | None
) -> None:
    moments = random.Random(5)
    for kill in range(KILLS + 1):
        enough = _n_acknowledged(clients) + LOAD
        assert eventually(partial(_has_acknowledged, clients, enough))
        if kill == KILLS:
            return
        time.sleep(moments.uniform(0.0, 0.2))  # At a random time, so that the kill hits any step.
        node = nodes[kill % len(nodes)]
        node.kill()
        if restart and kill % 3 == 1:
            restart()
        node.start()


def _n_acknowledged(clients: list[Client]) -> int:
    return sum(len(client.acknowledged) for client in clients)


def _shown(node: FaultyServer, version: int) -> tuple[Any, Any]:
    """Return model and statistics once the node has seen everything that any node acknowledged."""
    with node.connected() as wire:

        def read(path: str) -> Any:
            return wire.get(f"/v1/tasks/activity/{path}").json()

        assert eventually(lambda: read("stats")["version"] >= version), "a node lags behind"
        return read("export?format=json"), read("stats")


def _check(database: str, task: Task, clients: list[Client], shown: list[tuple[Any, Any]]) -> None:
    with closing(Store(database)) as store:
        log = list(store.log(store.task("activity").id))
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
    found = {entry.id: entry.seq for entry in log}
    assert len(found) == len(log), "a check-in counted twice"
    acknowledged = {name: v for client in clients for name, v in client.acknowledged.items()}
    assert acknowledged == {name: found.get(name) for name in acknowledged}, "an answer was lost"
    assert len(found) - len(acknowledged) <= CLIENTS, "sent and unanswered: one for each client"
    fold = recompute(database)
    for document, statistics in shown:
        assert document["version"] == statistics["version"] == fold.version == len(log)
        assert np.array(document["weights"]).tobytes() == fold.exported.tobytes()
        if task.terms.mechanism_name == "direction":
            assert statistics["samples"] is None
            assert statistics["error"] == msgspec.to_builtins(fold.error())
        else:
            assert statistics["samples"] == sum(entry.samples or 0 for entry in log)
    if task.terms.mechanism_name == "direction":
        by_device = Counter(entry.device for entry in log)
        assert sorted((entry.device, entry.number) for entry in log) == [
            (device, number) for device in sorted(by_device)
            for number in range(1, by_device[device] + 1)
        ], "each number once, and none left out"  # fmt: skip
