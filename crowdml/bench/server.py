"""Count durable, authenticated check-ins a second, beside an empty handler."""

import http.client
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from crowdml.bench.listeners import listening
from crowdml.bench.load import Generator, LoadPlan, LoadResult, started_generators, unverified
from crowdml.bench.process import BenchServer, prepared_server
from crowdml.bench.task import bench_task
from crowdml.protocol import Enrol, Enrolled, terms_hash

MECHANISMS = ("direction", "laplace")
ROUNDS = 3
"""Rounds in which both handlers are loaded in turn, so that a slower machine affects both."""


@dataclass(frozen=True)
class LoadSettings:
    """Describe who loads the server.

    Args:
        seconds: How long each handler is loaded.
        clients: Devices, each with a keep-alive connection.
        checkouts: The share of requests that are check-outs, half of them with If-None-Match.
        generators: Processes that the devices share.
        listeners: Event streams of the task that are open in a further run; 0 for no such run.
    """

    seconds: float = 5.0
    clients: int = 128
    checkouts: float = 0.0
    generators: int = 1
    listeners: int = 0


def bench_server(
    crowd: LoadSettings,
    database: str | None = None,
    workers: Sequence[int] = (1,),
    tls: bool = False,
) -> dict[str, Any]:
    """Measure rates, latencies and CPU for each mechanism; a list for several numbers of workers.

    Args:
        database: An empty one; None for a file of its own.
        workers: Processes of the server, one number after the other.
    """
    settings = []
    with prepared_server(database, tls) as server:
        for number in workers:
            server.workers = number
            with server:
                server.await_workers()
                each = {name: _bench(server, name, crowd) for name in MECHANISMS}
            settings.append(each)
    if len(settings) == 1:
        return dict(settings[0])
    return {"settings": [{"workers": n} | each for n, each in zip(workers, settings, strict=True)]}


class HandlerSums:
    """Add up the rounds of one handler."""

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.checkins: list[float] = []
        self.checkouts: list[float] = []
        self.seconds = self.server_cpu = self.generator_cpu = self.generator_queued = 0.0
        self.events = 0

    def add(self, tallies: list[LoadResult], server_cpu: float, events: int) -> None:
        self.rates.append(sum(len(t.checkins + t.checkouts) / t.seconds for t in tallies))
        self.checkins += [latency for tally in tallies for latency in tally.checkins]
        self.checkouts += [latency for tally in tallies for latency in tally.checkouts]
        self.seconds += max(tally.seconds for tally in tallies)
        self.server_cpu += server_cpu
        self.generator_cpu += sum(tally.cpu for tally in tallies) / len(tallies)
        self.generator_queued += sum(tally.queued for tally in tallies) / len(tallies)
        self.events += events


def _bench(server: BenchServer, task: str, crowd: LoadSettings) -> dict[str, float]:
    tokens = _enrol(server, task, crowd.clients)
    plan = LoadPlan(server.port, server.tls is not None, task, crowd.checkouts, tokens)
    empty, real, listened = HandlerSums(), HandlerSums(), HandlerSums()
    # The requests for each handler, and the listeners at that time.
    runs = [(empty, True, 0), (real, False, 0), (listened, False, crowd.listeners)]
    runs = runs if crowd.listeners else runs[:2]
    with started_generators(plan, crowd.generators) as running:
        for to_empty in (True, False):
            _load(server, running, to_empty, min(1.0, crowd.seconds))
        for _ in range(ROUNDS):
            for sums, to_empty, listeners in runs:
                with listening(plan, listeners) as streams:
                    before = streams.events
                    loaded = _load(server, running, to_empty, crowd.seconds / ROUNDS)
                    sums.add(*loaded, streams.events - before)
    results = _summary(real, empty) | {"clients": crowd.clients, "workers": server.workers}
    return results | _with_listeners(listened, real, crowd.listeners) if listened.rates else results


def _load(
    server: BenchServer, running: list[Generator], empty: bool, seconds: float
) -> tuple[list[LoadResult], float]:
    """Load the server; return each generator's tally and the server's CPU seconds."""
    before = session_cpu_seconds(server.pid)
    started = [generator(empty, seconds) for generator in running]
    tallies = [future.result() for future in started]
    return tallies, session_cpu_seconds(server.pid) - before


def _with_listeners(listened: HandlerSums, real: HandlerSums, listeners: int) -> dict[str, float]:
    """Repeat the load with listeners, beside the load without them."""
    rate = statistics.median(listened.rates)
    requests = len(listened.checkins) + len(listened.checkouts)
    return {
        "listeners": listeners,
        "events_per_s": listened.events / listened.seconds,
        "listened_per_s": rate * len(listened.checkins) / requests,
        "listened_ratio": rate / statistics.median(real.rates),
        "listened_cpu_ratio": _cpu_ms(real) / _cpu_ms(listened),
        **_percentiles("listened_", listened.checkins),
    }


def _summary(real: HandlerSums, empty: HandlerSums) -> dict[str, float]:
    """Compute the results of a handler; in a mixed load check-ins bear the check-outs' CPU."""
    rate, empty_per_s = statistics.median(real.rates), statistics.median(empty.rates)
    checkins = len(real.checkins)
    results = {
        "checkins_per_s": rate * checkins / (checkins + len(real.checkouts)),
        "empty_per_s": empty_per_s,
        "ratio": rate / empty_per_s,
        **_percentiles("", real.checkins),
        "cpu_ms_per_checkin": 1e3 * real.server_cpu / checkins,
        "cpu_ms_per_empty": _cpu_ms(empty),
        "cpu_ratio": _cpu_ms(empty) / _cpu_ms(real),
        "server_cpu": real.server_cpu / real.seconds,
        "generator_cpu": real.generator_cpu / real.seconds,
        "generator_cpu_empty": empty.generator_cpu / empty.seconds,
        "generator_queued": real.generator_queued / real.seconds,
        "generator_queued_empty": empty.generator_queued / empty.seconds,
    }
    if real.checkouts:
        results["checkouts_per_s"] = rate - results["checkins_per_s"]
        results |= _percentiles("checkout_", real.checkouts)
    return results


def _cpu_ms(sums: HandlerSums) -> float:
    """Return the server's CPU time for one request, in ms."""
    return 1e3 * sums.server_cpu / (len(sums.checkins) + len(sums.checkouts))


def _percentiles(prefix: str, seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {f"{prefix}p{p}_ms": 1e3 * ordered[len(ordered) * p // 100] for p in (50, 99)}


def _enrol(server: BenchServer, task: str, clients: int) -> list[str]:
    connection: http.client.HTTPConnection
    if server.tls:
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=unverified())
    else:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
    message = msgspec.json.encode(Enrol(terms_hash(bench_task(task, mechanism=task).terms.text)))
    tokens = []
    for _ in range(clients):
        connection.request("POST", f"/v1/tasks/{task}/devices", message)
        enrolled = msgspec.json.decode(connection.getresponse().read(), type=Enrolled)
        tokens.append(enrolled.token)
    connection.close()
    return tokens


def session_cpu_seconds(session: int) -> float:
    """Return the CPU seconds of all processes in a session: a server and its workers."""
    ticks = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # The process has ended.
        if int(fields[3]) == session:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
