"""How many durable, authenticated check-ins a second, beside an empty handler."""

import asyncio
import http.client
import os
import statistics
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from crowdml.bench.process import BenchServer, bench_server_process
from crowdml.bench.task import BATCH, CLASSES, bench_task
from crowdml.privacy import NoiseMechanism
from crowdml.protocol import Checkin, Enrol, Enrolled, NoisyCheckin, terms_hash

__all__ = ["bench_server"]

MECHANISMS = ("direction", "laplace")
NUMBER = 1234567
ROUNDS = 3
"""Both handlers are loaded in turn, so that a change of the machine's mood hits both."""


def bench_server(seconds: float, clients: int) -> dict[str, dict[str, float]]:
    """Rates, latencies and CPU for each mechanism, with keep-alive clients on loopback."""
    with bench_server_process() as server:
        return {name: _bench(server, name, seconds, clients) for name in MECHANISMS}


def _bench(server: BenchServer, task: str, seconds: float, clients: int) -> dict[str, float]:
    rates: dict[str, list[float]] = {"checkins": [], "empty": []}
    latencies: list[float] = []
    cpu_seconds, checkins = 0.0, 0
    loads = [Load(token, task) for token in _enrol(server, task, clients)]
    path = f"/v1/tasks/{task}/checkins"
    for each in ("/bench/empty", path):
        asyncio.run(_run(server.port, each, loads, min(1.0, seconds)))
    for _ in range(ROUNDS):
        share = seconds / ROUNDS
        empty = asyncio.run(_run(server.port, "/bench/empty", loads, share))
        rates["empty"].append(len(empty) / share)
        before = _cpu_seconds(server.pid)
        taken = asyncio.run(_run(server.port, path, loads, share))
        cpu_seconds += _cpu_seconds(server.pid) - before
        rates["checkins"].append(len(taken) / share)
        checkins += len(taken)
        latencies += taken
    latencies.sort()
    checkins_per_s = statistics.median(rates["checkins"])
    empty_per_s = statistics.median(rates["empty"])
    return {
        "checkins_per_s": checkins_per_s,
        "empty_per_s": empty_per_s,
        "ratio": checkins_per_s / empty_per_s,
        "p50_ms": 1e3 * latencies[len(latencies) // 2],
        "p99_ms": 1e3 * latencies[len(latencies) * 99 // 100],
        "cpu_ms_per_checkin": 1e3 * cpu_seconds / checkins,
        "clients": clients,
    }


class Load:
    """The check-ins of one device: always the same, but for their ids and numbers."""

    def __init__(self, token: str, task: str) -> None:
        self._token = token
        self._parts = _body(task)
        self._number = 0

    def request(self, path: str) -> bytes:
        self._number += 1
        before, between, after = self._parts
        new_id = os.urandom(11).hex().encode()
        body = before + new_id + between + (b"%7d" % self._number if between else b"") + after
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


class Client(asyncio.Protocol):
    """Sends one request after the other on one connection and times the answers."""

    def __init__(self, load: Load, path: str, deadline: float) -> None:
        self.latencies: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._load, self._path, self._deadline = load, path, deadline

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        if not data.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(data.decode(errors="replace")))
            self._transport.close()
            return
        self.latencies.append(now - self._sent)
        if now < self._deadline:
            self._send()
        else:
            self._transport.close()
            self.done.set_result(None)

    def _send(self) -> None:
        request = self._load.request(self._path)
        self._sent = time.perf_counter()
        self._transport.write(request)


async def _run(port: int, path: str, loads: list[Load], seconds: float) -> list[float]:
    """The latencies of all requests that were answered within the time."""
    deadline = time.perf_counter() + seconds
    clients = []
    for load in loads:
        client = Client(load, path, deadline)
        await asyncio.get_running_loop().create_connection(
            lambda client=client: client,  # type: ignore[misc]
            "127.0.0.1",
            port,
        )
        clients.append(client)
    await asyncio.gather(*(client.done for client in clients))
    return [latency for client in clients for latency in client.latencies]


def _body(task: str) -> tuple[bytes, bytes, bytes]:
    """A plausible check-in, split where its id and, if it has one, its number go."""
    terms = bench_task(task, mechanism=task).terms
    mechanism = terms.mechanism()
    head: dict[str, Any] = {"id": "X" * 22, "version": 0, "terms": terms_hash(terms.text)}
    message: Checkin
    if isinstance(mechanism, NoiseMechanism):
        gradient = np.random.default_rng(0).integers(-(2**22), 2**22, mechanism.size)
        counts = {"errors": 7, "labels": (2,) * CLASSES, "grid": mechanism.grid(BATCH)}
        told: dict[str, Any] = {"samples": BATCH, "heldout": 0, **counts}
        message = NoisyCheckin(gradient=gradient.astype("<i4").tobytes(), **told, **head)
        before, _, after = msgspec.json.encode(message).partition(b"X" * 22)
        return before, b"", after
    body = msgspec.json.encode({**head, "direction": 700, "number": NUMBER})
    before, _, rest = body.partition(b"X" * 22)
    between, _, after = rest.partition(str(NUMBER).encode())
    return before, between, after


def _enrol(server: BenchServer, task: str, clients: int) -> list[str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    message = msgspec.json.encode(Enrol(terms_hash(bench_task(task, mechanism=task).terms.text)))
    tokens = []
    for _ in range(clients):
        connection.request("POST", f"/v1/tasks/{task}/devices", message)
        enrolled = msgspec.json.decode(connection.getresponse().read(), type=Enrolled)
        tokens.append(enrolled.token)
    connection.close()
    return tokens


def _cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
