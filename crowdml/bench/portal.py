"""Time pages with many tasks and check-ins in the store, beside a nearly empty store."""

import http.client
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import msgspec

from crowdml.bench.task import bench_task
from crowdml.demo import ServerProcess
from crowdml.privacy import DirectionPayload
from crowdml.server import Store
from crowdml.server.database import LogEntry, this_minute, token_sha256
from crowdml.server.log import Learner

REQUESTS = 60
DEVICES = 1000
GROUP = 10_000
PAGES = {
    "list": "/",
    "search": "/?q=bench-7&state=open",
    "task": "/tasks/bench-0",
    "picture": "/tasks/bench-0/charts/error.svg",
}


def bench_portal(tasks: int, checkins: int) -> dict[str, float]:
    """Measure the median and 99th percentile of each page in ms, and the ratios of the medians.

    All check-ins belong to the first task.
    """
    results: dict[str, float] = {"tasks": tasks, "checkins": checkins}
    with tempfile.TemporaryDirectory(prefix="crowdml-bench-") as folder:
        small, large = (ServerProcess(Path(folder) / name) for name in ("small", "large"))
        _fill(small, 1, 100)
        few = _measure(small)
        began = time.perf_counter()
        _fill(large, tasks, checkins)
        results["preparation_s"] = time.perf_counter() - began
        many = _measure(large)
    for name in PAGES:
        times = sorted(many[name])
        median = times[len(times) // 2]
        results[f"{name}_p50_ms"] = 1e3 * median
        results[f"{name}_p99_ms"] = 1e3 * times[len(times) * 99 // 100]
        results[f"{name}_ratio"] = median / sorted(few[name])[len(times) // 2]
    results["start_s"] = many["start"][0]
    return results


def _fill(server: ServerProcess, tasks: int, checkins: int) -> None:
    """Fill the database with tasks, and the log of the first task with check-ins."""
    server.folder.mkdir()
    Store(server.database).close()
    made = [
        bench_task(f"bench-{number}", features=4, classes=2, batch=10) for number in range(tasks)
    ]
    with closing(sqlite3.connect(server.file)) as db, db:
        db.executemany(
            "INSERT INTO tasks (name, document, terms, state, created_at) VALUES (?,?,?,?,0)",
            [(t.name, msgspec.json.encode(t).decode(), t.terms.text, "running") for t in made],
        )
        db.executemany(
            "INSERT INTO devices VALUES (1, ?, ?, ?, 'active')",
            [(number, f"device-{number}", token_sha256(f"{number}")) for number in range(DEVICES)],
        )
    with closing(Store(server.database)) as store:
        row, entries = store.task("bench-0"), _log(checkins)
        while group := list(islice(entries, GROUP)):
            store.log(row.id).append(group)
        Learner(row, store.log(row.id), snapshot_every=1).save_snapshot()


def _log(checkins: int) -> Iterator[LogEntry]:
    """Make check-ins of a thousand devices in turn; every fifth check-in evaluates."""
    now = this_minute()
    for seq in range(1, checkins + 1):
        at, number = now - (checkins - seq) // 100 * 60, 1 + seq // DEVICES
        payload = (
            DirectionPayload(number, wrong=seq % 2)
            if seq % 5 == 0
            else DirectionPayload(number, seq % 1024)
        )
        device, name = seq % DEVICES, f"bench-{seq:016}"
        body = msgspec.msgpack.encode(payload)
        yield LogEntry(1, seq, device, name, at, seq - 1, number, None, body, "")


def _measure(server: ServerProcess) -> dict[str, list[float]]:
    """Time many requests for each page, on one keep-alive connection."""
    times: dict[str, list[float]] = {}
    began = time.perf_counter()
    with server:
        times["start"] = [time.perf_counter() - began]
        with closing(
            http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        ) as connection:
            for name, path in PAGES.items():
                _get(connection, path)
                times[name] = [_get(connection, path) for _ in range(REQUESTS)]
    return times


def _get(connection: http.client.HTTPConnection, path: str) -> float:
    began = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path} answered with status {answer.status}")
    return time.perf_counter() - began
