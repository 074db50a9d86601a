"""kill -9 under load, twenty times: nothing acknowledged is lost, nothing counts twice."""

import http.client
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from crowdml.protocol import Task
from tests.servers import (
    Process,
    Start,
    checkin,
    directed,
    enrolled,
    make_directed,
    make_task,
    recompute,
)

CHECKINS = "/v1/tasks/activity/checkins"
CLIENTS = 4


@dataclass
class Client:
    """Sends one valid check-in after the other over a kept-alive connection, until told to stop.

    What is not acknowledged is sent again with the same bytes, as every device does.
    """

    server: Process
    task: Task
    joined: dict[str, str]
    number: int
    stop: threading.Event
    acknowledged: dict[str, int] = field(default_factory=dict)
    duplicates: int = 0
    strange: list[object] = field(default_factory=list)

    def body(self, sent: int) -> bytes:
        """The sent-th check-in of this device."""
        seed = self.number * 100_000 + sent
        if self.task.terms.mechanism_name == "direction":
            return directed(self.task, self.joined["device"], sent, seed)
        return checkin(self.task, seed, samples=3 + seed % 5)

    def run(self) -> None:
        sent = 0
        with self.server.connected() as wire:
            while not self.stop.is_set():
                sent += 1
                body = self.body(sent)
                while not self.stop.is_set():
                    try:
                        reply = wire.call("POST", CHECKINS, body, self.joined["token"])
                    except (OSError, http.client.HTTPException):
                        time.sleep(0.01)
                        continue
                    if reply.status != 200:
                        self.strange.append(reply)
                        return
                    answer = reply.json()
                    self.acknowledged[json.loads(body)["id"]] = answer["version"]
                    self.duplicates += answer["status"] == "duplicate"
                    break


def hammer(start: Start, task: Task, kills: int, seed: int, **settings: Any) -> None:
    server = start(task, **settings)
    with server.connected() as wire:
        joined = [enrolled(wire) for _ in range(CLIENTS)]
    stop = threading.Event()
    clients = [Client(server, task, each, i, stop) for i, each in enumerate(joined)]
    threads = [threading.Thread(target=client.run) for client in clients]
    moments = random.Random(seed)
    for thread in threads:
        thread.start()
    try:
        for _ in range(kills):
            time.sleep(moments.uniform(0.01, 0.25))
            server.kill()
            server.start()
        time.sleep(0.2)
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
    assert [client.strange for client in clients] == [[]] * CLIENTS

    with server.connected() as wire:
        document = wire.get("/v1/tasks/activity/export?format=json").json()
        statistics = wire.get("/v1/tasks/activity/stats").json()
    with server.store() as store:
        log = list(store.log(1))
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
    assert len({entry.id for entry in log}) == len(log), "a check-in counted twice"
    found = {entry.id: entry.seq for entry in log}
    acknowledged = {name: v for client in clients for name, v in client.acknowledged.items()}
    assert len(acknowledged) > 5 * kills, "too little load to mean anything"
    assert acknowledged == {name: found.get(name) for name in acknowledged}, (
        "an answer was not kept"
    )
    # Sent but unanswered at the end: at most one for each client.
    assert len(found) - len(acknowledged) <= CLIENTS
    fold = recompute(server.database)
    assert document["version"] == statistics["version"] == fold.version == len(log)
    assert np.array(document["weights"]).tobytes() == fold.learnt.tobytes()
    if task.terms.mechanism_name == "direction":
        assert statistics["samples"] is None
        by_device = Counter(entry.device for entry in log)
        assert sorted((entry.device, entry.number) for entry in log) == [
            (device, number) for device in sorted(by_device)
            for number in range(1, by_device[device] + 1)
        ], "each number once, and none left out"  # fmt: skip
        errors = statistics["error"]["value"]
        assert errors == fold.totals.errors / fold.totals.evaluated
    else:
        assert statistics["samples"] == sum(entry.samples or 0 for entry in log)


@pytest.mark.parametrize("part", range(2))
def test_killed_under_load(start: Start, part: int) -> None:
    """Ten kills in each part, twenty in all; two parts, so that they can run side by side."""
    hammer(start, make_task(), kills=10, seed=part)


@pytest.mark.parametrize("part", range(2))
def test_killed_under_the_load_of_people(start: Start, part: int) -> None:
    """The same with check-ins of one small number, and a snapshot every few of them."""
    task = make_directed(collection__checkins=100_000, privacy__epsilon=4e5, optimizer__c=None)
    hammer(start, task, kills=10, seed=part, snapshot_every=50)


def test_killed_while_taking_snapshots(start: Start) -> None:
    task = make_task(optimizer__kind="adagrad", optimizer__averaging=2.0, stop__window=20)
    hammer(start, task, kills=8, seed=7, snapshot_every=3, largest_batch=4)
