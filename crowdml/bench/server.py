"""How many durable, authenticated check-ins a second, beside an empty handler."""

import asyncio
import http.client
import os
import statistics
import time
from pathlib import Path

import msgspec
import numpy as np

from crowdml.bench.process import BenchServer, bench_server_process
from crowdml.bench.task import BATCH, CLASSES, bench_task
from crowdml.protocol import Checkin, Enrol, Enrolled, encode_gradient, terms_hash

__all__ = ["bench_server"]

ROUNDS = 3
"""Both handlers are loaded in turn, so that a change of the machine's mood hits both."""


def bench_server(seconds: float, clients: int) -> dict[str, float]:
    """Rates, latencies and CPU, with keep-alive clients on loopback."""
    rates: dict[str, list[float]] = {"checkins": [], "empty": []}
    latencies: list[float] = []
    cpu_seconds, checkins = 0.0, 0
    with bench_server_process() as server:
        tokens = _enrol(server, clients)
        for path in ("/bench/empty", "/v1/tasks/bench/checkins"):
            asyncio.run(_load(server.port, path, tokens, min(1.0, seconds)))
        for _ in range(ROUNDS):
            share = seconds / ROUNDS
            empty = asyncio.run(_load(server.port, "/bench/empty", tokens, share))
            rates["empty"].append(len(empty) / share)
            before = _cpu_seconds(server.pid)
            taken = asyncio.run(_load(server.port, "/v1/tasks/bench/checkins", tokens, share))
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


class Client(asyncio.Protocol):
    """Sends one request after the other on one connection and times the answers."""

    def __init__(self, head: bytes, body: tuple[bytes, bytes], deadline: float) -> None:
        self.latencies: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._head, self._body, self._deadline = head, body, deadline

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
        before, after = self._body
        new_id = os.urandom(11).hex().encode()
        self._sent = time.perf_counter()
        self._transport.write(self._head + before + new_id + after)


async def _load(port: int, path: str, tokens: list[str], seconds: float) -> list[float]:
    """The latencies of all requests that were answered within the time."""
    body = _body()
    length = len(body[0]) + 22 + len(body[1])
    deadline = time.perf_counter() + seconds
    clients = []
    for token in tokens:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        ).encode()
        client = Client(head, body, deadline)
        await asyncio.get_running_loop().create_connection(
            lambda client=client: client,  # type: ignore[misc]
            "127.0.0.1",
            port,
        )
        clients.append(client)
    await asyncio.gather(*(client.done for client in clients))
    return [latency for client in clients for latency in client.latencies]


def _body() -> tuple[bytes, bytes]:
    """A plausible check-in, split where its id goes."""
    terms = bench_task().terms
    sanitizer = terms.sanitizer()
    gradient = np.random.default_rng(0).integers(-(2**22), 2**22, sanitizer.size)
    message = Checkin(
        id="X" * 22,
        version=0,
        terms=terms_hash(terms.text),
        samples=BATCH,
        heldout=0,
        errors=7,
        labels=(2,) * CLASSES,
        grid=sanitizer.grid(BATCH),
        gradient=encode_gradient(gradient),
    )
    before, _, after = msgspec.json.encode(message).partition(b"X" * 22)
    return before, after


def _enrol(server: BenchServer, clients: int) -> list[str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    message = msgspec.json.encode(Enrol(terms_hash(bench_task().terms.text)))
    tokens = []
    for _ in range(clients):
        connection.request("POST", "/v1/tasks/bench/devices", message)
        enrolled = msgspec.json.decode(connection.getresponse().read(), type=Enrolled)
        tokens.append(enrolled.token)
    connection.close()
    return tokens


def _cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
