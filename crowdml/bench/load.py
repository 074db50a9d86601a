"""The load generator: a process of its own that keeps connections busy and times the answers."""

import asyncio
import multiprocessing
import os
import random
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np

from crowdml.bench.task import BATCH, CLASSES, bench_task
from crowdml.privacy import NoiseMechanism
from crowdml.protocol import terms_hash
from crowdml.server.serve import run_loop

__all__ = ["EMPTY", "Generator", "Plan", "Tally", "generators", "unverified"]

EMPTY = "/bench/empty"
SALT = "salt" * 3


class Plan(NamedTuple):
    """Whom to load, as whom, and with what.

    Args:
        port: On loopback.
        tls: Whether it speaks TLS.
        task: The task, which has the name of its mechanism.
        checkouts: The share of requests that are check-outs.
        tokens: Those of the devices; each has a connection.
    """

    port: int
    tls: bool
    task: str
    checkouts: float
    tokens: list[str]


class Tally(NamedTuple):
    """What came of it: seconds until each answer, and what the generator itself needed.

    Args:
        checkins: Of check-ins, or of requests to the empty handler.
        checkouts: Of check-outs.
        seconds: Those of the whole.
        cpu: Seconds of CPU that the generator used.
        queued: Seconds for which it could have run and got no CPU.
    """

    checkins: list[float]
    checkouts: list[float]
    seconds: float
    cpu: float
    queued: float


class Generator:
    """The devices of one process, as the others see it."""

    def __init__(self, plan: Plan, process: ProcessPoolExecutor) -> None:
        self._plan, self._process = plan, process

    def start(self, empty: bool, seconds: float) -> Any:
        """A future of its tally."""
        return self._process.submit(_generate, self._plan, empty, seconds)


@contextmanager
def generators(plan: Plan, processes: int) -> Iterator[list[Generator]]:
    """So many processes with a share of the devices each."""
    with ExitStack() as stack:
        spawn = multiprocessing.get_context("spawn")
        pools = [ProcessPoolExecutor(1, spawn) for _ in range(processes)]
        for pool in pools:
            stack.enter_context(pool)
        yield [
            Generator(plan._replace(tokens=plan.tokens[k::processes]), pool)
            for k, pool in enumerate(pools)
        ]


# In the generator's process

_devices: dict[str, "Device"] = {}
"""By their tokens: their numbers go on from one run to the next."""


def _generate(plan: Plan, empty: bool, seconds: float) -> Tally:
    for token in plan.tokens:
        _devices.setdefault(token, Device(plan, token))
    return run_loop(_run(plan, empty, seconds))


async def _run(plan: Plan, empty: bool, seconds: float) -> Tally:
    """All connect, and then all begin."""
    loop, clients = asyncio.get_running_loop(), []
    context = unverified() if plan.tls else None
    for token in plan.tokens:
        client = Client(_devices[token], 0.0 if empty else plan.checkouts, empty)
        await loop.create_connection(
            lambda client=client: client,
            "127.0.0.1",
            plan.port,
            ssl=context,
        )
        clients.append(client)
    start, cpu, queued = time.perf_counter(), time.process_time(), _queued()
    for client in clients:
        client.begin(start + seconds)
    await asyncio.gather(*(client.done for client in clients))
    return Tally(
        [latency for client in clients for latency in client.latencies[False]],
        [latency for client in clients for latency in client.latencies[True]],
        time.perf_counter() - start,
        time.process_time() - cpu,
        _queued() - queued,
    )


class Device:
    """Requests that are encoded but for a number."""

    def __init__(self, plan: Plan, token: str) -> None:
        path = f"/v1/tasks/{plan.task}"
        who = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
        body = _body(plan.task).replace(SALT, os.urandom(6).hex())
        length = len(body % {"n": 0})
        for_body = f"{who}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        self._checkin = f"POST {path}/checkins HTTP/1.1\r\n{for_body}".encode()
        self._empty = f"POST {EMPTY} HTTP/1.1\r\n{for_body}".encode()
        self._checkout = f"GET {path}/model HTTP/1.1\r\n{who}".encode()
        self._number = self._checkouts = 0
        self.etag = b""

    def checkin(self, empty: bool) -> bytes:
        self._number += 1
        return (self._empty if empty else self._checkin) % {b"n": self._number}

    def checkout(self) -> bytes:
        """Every other time, unless the model has changed since."""
        self._checkouts += 1
        if self.etag and self._checkouts % 2:
            return self._checkout + b"If-None-Match: %s\r\n\r\n" % self.etag
        return self._checkout + b"\r\n"


class Client(asyncio.Protocol):
    """Sends one request after the other on one connection and times the answers."""

    def __init__(self, device: Device, checkouts: float, empty: bool) -> None:
        self.latencies: dict[bool, list[float]] = {False: [], True: []}
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._device, self._checkouts, self._empty = device, checkouts, empty

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def begin(self, deadline: float) -> None:
        self._deadline = deadline
        self._send()

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, end, body = self._answer.partition(b"\r\n\r\n")
        if not end or len(body) < int(_header(head, b"content-length") or 0):
            return
        now = time.perf_counter()
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 304")):
            self.done.set_exception(RuntimeError(self._answer.decode(errors="replace")))
            self._transport.close()
            return
        self.latencies[self._checks_out].append(now - self._sent)
        if self._checks_out:
            self._device.etag = _header(head, b"etag")
        if now < self._deadline:
            self._send()
        else:
            self._transport.close()
            self.done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed a connection"))

    def _send(self) -> None:
        self._checks_out = random.random() < self._checkouts  # noqa: S311
        device = self._device
        request = device.checkout() if self._checks_out else device.checkin(self._empty)
        self._answer = b""
        self._sent = time.perf_counter()
        self._transport.write(request)


def unverified() -> ssl.SSLContext:
    """Whoever is measured was started here."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _header(head: bytes, name: bytes) -> bytes:
    return head.partition(b"\r\n%s: " % name)[2].partition(b"\r\n")[0]


def _queued() -> float:
    """Seconds so far for which this process was ready and another had the CPU."""
    return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9


def _body(task: str) -> str:
    """A plausible check-in, with room for a salt and for `%(n)d` in its id and as its number."""
    terms = bench_task(task, mechanism=task).terms
    mechanism = terms.mechanism()
    head = {"id": "ID", "version": 0, "terms": terms_hash(terms.text)}
    told: dict[str, Any] = {"direction": 700, "number": "NUMBER"}
    if isinstance(mechanism, NoiseMechanism):
        gradient = np.random.default_rng(0).integers(-(2**22), 2**22, mechanism.size)
        counts = {"errors": 7, "labels": (2,) * CLASSES, "grid": mechanism.grid(BATCH)}
        told = {"gradient": gradient.astype("<i4").tobytes(), "samples": BATCH, "heldout": 0}
        told |= counts
    body = msgspec.json.encode(head | told).decode()
    return body.replace('"ID"', f'"{SALT}%(n)010d"').replace('"NUMBER"', "%(n)7d")
