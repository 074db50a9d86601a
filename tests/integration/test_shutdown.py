"""Check SIGTERM: acknowledged check-ins are committed, listeners leave, and the process ends."""

import http.client
import json
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.servers import (
    PATIENCE,
    HttpClient,
    Portal,
    checkin,
    create,
    enrol,
    eventually,
    make_task,
)

CLIENTS = 4
TASK = make_task()


class Client(threading.Thread):
    """Send check-ins until the server is gone."""

    def __init__(self, port: int, token: str, number: int) -> None:
        super().__init__()
        self.port, self.token, self.number = port, token, number
        self.acknowledged: set[str] = set()

    def run(self) -> None:
        with closing(HttpClient(self.port)) as wire:
            for n in range(1_000_000):
                body = checkin(TASK, seed=self.number * 1_000_000 + n)
                try:
                    reply = wire.call("POST", "/v1/tasks/activity/checkins", body, self.token)
                except (OSError, http.client.HTTPException):
                    return
                if reply.status == 200:
                    self.acknowledged.add(json.loads(body)["id"])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_under_load_ends_well(tmp_path: Path, workers: int) -> None:
    server = Portal(tmp_path, workers=workers)
    create(server.database, TASK)
    server.start()
    with server.connected() as wire:
        clients = [Client(server.port, enrol(wire), number) for number in range(CLIENTS)]
    listener = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    listener.request("GET", "/v1/tasks/activity/events")
    events = listener.getresponse()
    assert events.readline() == b"event: statistics\n"
    for client in clients:
        client.start()
    try:
        assert eventually(lambda: min(len(client.acknowledged) for client in clients) >= 20)
        assert server.stop() == 0, server.output
        # Read to the very end: an answer that is cut off would raise IncompleteRead.
        assert events.read().endswith(b"\n\n")
    finally:
        server.kill()
        listener.close()
        for client in clients:
            client.join()
    assert "Traceback" not in server.output
    with server.store() as store:
        logged = {entry.id for entry in store.log(store.task("activity").id)}
    assert set().union(*(client.acknowledged for client in clients)) <= logged
