"""Several equal servers on one database, killed at random under load, the database too.

Nothing acknowledged is lost, nothing counts twice, and every server has the same model.
`CROWDML_CHAOS_SECONDS=600 pytest tests/integration/test_nodes_killed.py` takes ten minutes.
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
from pathlib import Path

import numpy as np
import pytest

from crowdml.protocol import Task
from crowdml.server import Store
from tests.postgres import Postgres, running_postgres
from tests.servers import (
    PATIENCE,
    Process,
    Wire,
    checkin,
    create,
    directed,
    enrolled,
    make_directed,
    make_task,
    recompute,
)

SECONDS = float(os.environ.get("CROWDML_CHAOS_SECONDS", "6"))
NODES, CLIENTS = 3, 6
CHECKINS = "/v1/tasks/activity/checkins"


@dataclass
class Client:
    """Sends one check-in after the other, each time to any of the nodes, until it is answered."""

    nodes: list[Process]
    task: Task
    joined: dict[str, str]
    number: int
    stop: threading.Event
    acknowledged: dict[str, int] = field(default_factory=dict)
    refused: Counter[int] = field(default_factory=Counter)

    def run(self) -> None:
        moments = random.Random(self.number)
        sent = 0
        while not self.stop.is_set():
            sent += 1
            seed = self.number * 1_000_000 + sent
            if self.task.terms.mechanism_name == "direction":
                body = directed(self.task, self.joined["device"], sent, seed)
            else:
                body = checkin(self.task, seed)
            while not self.stop.is_set():
                answer = self._send(moments.choice(self.nodes), body)
                if answer is not None:
                    self.acknowledged[json.loads(body)["id"]] = answer
                    break
                time.sleep(0.01)

    def _send(self, node: Process, body: bytes) -> int | None:
        wire = Wire(node.port)
        try:
            reply = wire.call("POST", CHECKINS, body, self.joined["token"])
        except (OSError, http.client.HTTPException):
            return None
        finally:
            wire.close()
        if reply.status == 200:
            return int(reply.json()["version"])
        self.refused[reply.status] += 1
        return None


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """One that a test may stop."""
    with running_postgres() as postgres:
        yield postgres


def tasks() -> list[Task]:
    return [
        make_directed(collection__checkins=1_000_000, privacy__epsilon=4e5, optimizer__c=None),
        make_task(),
    ]


@pytest.mark.parametrize("task", tasks(), ids=["direction", "laplace"])
def test_nodes_on_postgresql(own_postgres: Postgres, tmp_path: Path, task: Task) -> None:
    def restart() -> None:
        own_postgres.stop("immediate")
        own_postgres.start()

    chaos(own_postgres.make("crowd"), tmp_path, task, restart)


@pytest.mark.parametrize("task", tasks(), ids=["direction", "laplace"])
def test_nodes_on_sqlite(tmp_path: Path, task: Task) -> None:
    chaos(f"sqlite:///{tmp_path / 'shared.db'}", tmp_path, task)


def chaos(
    database: str, folder: Path, task: Task, restart: Callable[[], None] | None = None
) -> None:
    create(database, task)
    settings = {"snapshot_every": 100, "keep_told": True}
    nodes = [
        Process(folder / f"node-{n}", shared=database, settings=settings) for n in range(NODES)
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
            kills = _strike(nodes, restart)
        finally:
            stop.set()
            for thread in threads:
                thread.join(PATIENCE)
        version = max(v for client in clients for v in client.acknowledged.values())
        models = [_model(node, version) for node in nodes]
    assert kills > SECONDS / 4
    _check(database, task, clients, models)


def _strike(nodes: list[Process], restart: Callable[[], None] | None) -> int:
    moments, kills = random.Random(5), 0
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        time.sleep(moments.uniform(0.05, 0.6))
        node = moments.choice(nodes)
        node.kill()
        kills += 1
        if restart and moments.random() < 0.3:
            restart()
        node.start()
    time.sleep(0.5)
    return kills


def _model(node: Process, version: int) -> bytes:
    """Once the node has seen what was acknowledged, wherever that was."""
    deadline = time.monotonic() + PATIENCE
    with node.connected() as wire:
        while time.monotonic() < deadline:
            body = wire.get("/v1/tasks/activity/export?format=json").body
            if json.loads(body)["version"] >= version:
                return body
            time.sleep(0.02)
    raise AssertionError(f"a node lags behind version {version}")


def _check(database: str, task: Task, clients: list[Client], models: list[bytes]) -> None:
    assert {status for client in clients for status in client.refused} <= {503}
    with closing(Store(database)) as store:
        log = list(store.log(store.task("activity").id))
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
    found = {entry.id: entry.seq for entry in log}
    assert len(found) == len(log), "a check-in counted twice"
    acknowledged = {name: v for client in clients for name, v in client.acknowledged.items()}
    assert len(acknowledged) > 10 * SECONDS, "too little load to mean anything"
    assert acknowledged == {name: found.get(name) for name in acknowledged}, "an answer was lost"
    assert len(found) - len(acknowledged) <= CLIENTS, "sent and unanswered: one for each client"
    fold = recompute(database)
    for model in models:
        document = json.loads(model)
        assert document["version"] == len(log)
        assert np.array(document["weights"]).tobytes() == fold.learnt.tobytes()
    print(f"{len(acknowledged)} acknowledged, none lost, none doubled")
