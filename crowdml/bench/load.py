"""Generate load in a separate process, which keeps connections busy and times the answers."""

import asyncio
import multiprocessing
import os
import random
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias, cast

import msgspec
import numpy as np

from crowdml.bench.task import BATCH, CLASSES, FEATURES, bench_task
from crowdml.models import Minibatch
from crowdml.privacy import CheckinKey, SystemChance, bound_rows
from crowdml.protocol import terms_hash
from crowdml.server.operation import run_loop

EMPTY = "/bench/empty"
SALT = "salt" * 3


class LoadPlan(NamedTuple):
    """Describe a load: which server, which devices, which requests.

    Args:
        port: The server's port on loopback.
        task: The task, which has the name of its mechanism.
        checkouts: The share of requests that are check-outs.
        tokens: The devices' tokens; each device has a connection.
    """

    port: int
    tls: bool
    task: str
    checkouts: float
    tokens: list[str]


class LoadResult(NamedTuple):
    """Hold the results of a load: the seconds of each answer, and the generator's own cost.

    Args:
        checkins: The seconds of check-ins, or of requests to the empty handler.
        checkouts: The seconds of check-outs.
        seconds: The seconds of the whole load.
        cpu: Seconds of CPU that the generator used.
        queued: Seconds for which it could have run and got no CPU.
    """

    checkins: list[float]
    checkouts: list[float]
    seconds: float
    cpu: float
    queued: float


Generator: TypeAlias = Callable[[bool, float], "Future[LoadResult]"]
"""A function that loads one handler for some seconds, with the devices of one process."""


@contextmanager
def started_generators(plan: LoadPlan, processes: int) -> Iterator[list[Generator]]:
    """Start `processes` processes, each with its share of the devices."""
    spawn = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        pools = [stack.enter_context(ProcessPoolExecutor(1, spawn)) for _ in range(processes)]
        shares = (plan._replace(tokens=plan.tokens[k::processes]) for k in range(processes))
        yield [_generator(*each) for each in zip(pools, shares, strict=True)]


def _generator(pool: ProcessPoolExecutor, plan: LoadPlan) -> Generator:
    return lambda empty, seconds: pool.submit(_generate, plan, empty, seconds)


# In the generator's process

_devices: dict[str, "LoadDevice"] = {}
"""The devices by token, kept so that their numbers continue from one run to the next."""


def _generate(plan: LoadPlan, empty: bool, seconds: float) -> LoadResult:
    for token in plan.tokens:
        _devices.setdefault(token, LoadDevice(plan, token))
    return run_loop(_run(plan, empty, seconds))


async def _run(plan: LoadPlan, empty: bool, seconds: float) -> LoadResult:
    """Connect all devices, then start them all."""
    loop, clients = asyncio.get_running_loop(), []
    context = unverified() if plan.tls else None
    for token in plan.tokens:
        client = Client(_devices[token], 0.0 if empty else plan.checkouts, empty)
        await loop.create_connection(
            lambda client=client: client, "127.0.0.1", plan.port, ssl=context
        )
        clients.append(client)
    start, cpu, queued = time.perf_counter(), time.process_time(), _queued()
    for client in clients:
        client.begin(start + seconds)
    await asyncio.gather(*(client.done for client in clients))
    return LoadResult(
        [latency for client in clients for latency in client.latencies[False]],
        [latency for client in clients for latency in client.latencies[True]],
        time.perf_counter() - start,
        time.process_time() - cpu,
        _queued() - queued,
    )


class LoadDevice:
    """Prepare requests that are encoded except for one number."""

    def __init__(self, plan: LoadPlan, token: str) -> None:
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
        """Check out every other time, unless the model has changed since."""
        self._checkouts += 1
        if self.etag and self._checkouts % 2:
            return self._checkout + b"If-None-Match: %s\r\n\r\n" % self.etag
        return self._checkout + b"\r\n"


class Client(asyncio.Protocol):
    """Send one request after the other on one connection, and time the answers."""

    def __init__(self, device: LoadDevice, checkouts: float, empty: bool) -> None:
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
    """Return a TLS context without verification: the benchmark has started the server itself."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _header(head: bytes, name: bytes) -> bytes:
    return head.partition(b"\r\n%s: " % name)[2].partition(b"\r\n")[0]


def _queued() -> float:
    """Return for how many seconds this process was ready while another process had the CPU."""
    return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9


def _body(task: str) -> str:
    """Encode a plausible check-in, with room for a salt and for `%(n)d` in its id and number."""
    terms = bench_task(task, mechanism=task).terms
    mechanism, model, rng = terms.mechanism(), terms.make_model(), np.random.default_rng(0)
    x, y = rng.random((BATCH, FEATURES)), rng.integers(CLASSES, size=BATCH).astype(float)
    minibatch = Minibatch(model, np.zeros(model.size), bound_rows(x, mechanism.norm), y)
    key = CheckinKey(terms_hash(terms.text), "device", 1)
    event = mechanism.event(BATCH, key)
    payload = mechanism.make_payload(minibatch, event, key, SystemChance())
    message = {"id": "ID", "version": 0, "terms": key.terms_sha256}
    message |= msgspec.structs.asdict(payload)
    if "number" in message:
        message["number"] = "NUMBER"
    body = msgspec.json.encode({k: v for k, v in message.items() if v is not None}).decode()
    return body.replace('"ID"', f'"{SALT}%(n)010d"').replace('"NUMBER"', "%(n)7d")
