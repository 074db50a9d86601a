"""Cut the connection in the middle of requests and answers."""

import random
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from crowdml.device import Device, Outcome, RetryTimer
from tests.device.fakes import one_hot
from tests.integration.crowd import FEATURES, PARITY, log_of, uses, without_noise
from tests.support.servers import PATIENCE, Start


class Wirecutter:
    """Forward TCP, and hang up after a random number of bytes in either direction."""

    def __init__(self, target: int, seed: int) -> None:
        self._target = target
        self._random = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.05)
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.port: int = self._listener.getsockname()[1]
        self.cutting = True
        self.cuts = {"request": 0, "answer": 0}

    def serve(self) -> None:
        while not self._stop.is_set():
            with suppress(TimeoutError):
                client, _ = self._listener.accept()
                thread = threading.Thread(target=self._forward, args=(client,))
                self._threads.append(thread)
                thread.start()

    def stop(self) -> None:
        self._stop.set()

    def close(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)
        self._listener.close()

    def _forward(self, client: socket.socket) -> None:
        direction = self._random.choice(["request", "answer"])
        budget = self._random.randrange(1, 1500) if self.cutting else None
        with (
            closing(client),
            closing(socket.create_connection(("127.0.0.1", self._target))) as server,
            suppress(OSError),
        ):
            while not self._stop.is_set():
                readable, _, _ = select.select([client, server], [], [], 0.05)
                for source in readable:
                    kind = "request" if source is client else "answer"
                    data = source.recv(4096)
                    if not data:
                        return
                    if budget is not None and kind == direction:
                        data, budget = data[:budget], budget - len(data)
                    (server if source is client else client).sendall(data)
                    if budget is not None and budget <= 0:
                        self.cuts[direction] += 1
                        return


@contextmanager
def cutting(port: int, seed: int) -> Iterator[Wirecutter]:
    proxy = Wirecutter(port, seed)
    thread = threading.Thread(target=proxy.serve)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.stop()
        thread.join(PATIENCE)
        proxy.close()


@pytest.mark.parametrize("seed", range(3))
def test_a_device_goes_on_through_a_bad_network(start: Start, tmp_path: Path, seed: int) -> None:
    server = start(without_noise())
    with cutting(server.port, seed) as proxy:
        proxy.cutting = False
        url = f"http://127.0.0.1:{proxy.port}"
        with Device.join(
            url,
            "activity",
            file=tmp_path / "device",
            accept_no_privacy=True,
            retry_timer=RetryTimer(base=0.0),
        ) as device:
            device._membership.transport.close()
            proxy.cutting = True
            outcomes = [device.add(one_hot(i, FEATURES), PARITY[i % 2]) for i in range(FEATURES)]
            for _ in range(100):
                if device.sync() is Outcome.COLLECTED:
                    break
            proxy.cutting = False
            device._membership.transport.close()
            assert device.flush(seconds=20) in (Outcome.CHECKED_IN, Outcome.COLLECTED)
            left, ledger, answers = device.n_samples, device.ledger, device._store.answers
        cuts = proxy.cuts
    assert cuts["request"] > 2, "the wire was not cut often enough to mean anything"
    assert cuts["answer"] > 2
    assert Outcome.WAITING in outcomes
    log = log_of(server)
    used = uses(log)
    assert used.max() == 1, "a sample was used twice"
    assert int(used.sum()) + left == FEATURES, "a sample was lost"
    assert len(ledger.events) == len(log)
    assert list(answers) == [entry.id for entry in log]
    assert "duplicate" in answers.values(), "no answer was lost, so nothing was tested"
