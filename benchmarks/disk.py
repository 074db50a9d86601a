"""Measure how much disk a log takes, with and without its payloads.

Run: python benchmarks/disk.py [CHECK-INS] [BYTES OF A PAYLOAD]
"""

import os
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from crowdml.bench.task import bench_task
from crowdml.server import Store
from crowdml.server.database import schema
from crowdml.server.database.log_entry import LogEntry

GROUP = 1000
SNAPSHOT = os.urandom(12_000)
"""A snapshot of 500 parameters: w, its average, history."""


def main(checkins: int, payload_size: int) -> None:
    for keep in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            size = fill(Path(folder) / "log.db", checkins, payload_size, keep)
            seconds = time.perf_counter() - began
        what = "all kept" if keep else "what snapshots cover is dropped"
        print(
            f"{checkins:,} check-ins of {payload_size} bytes, {what}: {size / 1e6:,.0f} MB, "
            f"{size / checkins:.0f} bytes each, {seconds:.0f} s",
            flush=True,
        )


def fill(file: Path, checkins: int, payload_size: int, keep: bool) -> int:
    with closing(Store(f"sqlite:///{file}")) as store:
        task = store.create_task(bench_task()).id
        people = checkins // 10
        row = {"task": task, "status": "active"}
        with store._database.writing() as connection:
            for first in range(0, people, GROUP):
                rows = [
                    row | {"number": n, "name": f"{n:032x}", "token_sha256": f"{n:032x}".encode()}
                    for n in range(first, first + GROUP)
                ]
                connection.execute(sa.insert(schema.devices), rows)
        log, body = store.log(task), os.urandom(payload_size)
        for first in range(1, checkins + 1, GROUP):
            entries = [
                LogEntry(task, seq, seq % people, f"{seq:022x}", 0, seq - 1,
                         1 + seq // people, None, body, "")
                for seq in range(first, first + GROUP)
            ]  # fmt: skip
            log.append(entries)
            log.save_snapshot(first + GROUP - 1, SNAPSHOT, keep_payloads=keep)
    return sum(path.stat().st_size for path in file.parent.iterdir())


if __name__ == "__main__":
    chosen = [int(word) for word in sys.argv[1:3]] or [10_000_000, 20]
    main(*chosen)
