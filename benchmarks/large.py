"""Measure what models of 10⁵ and 10⁶ parameters cost a server and a device.

Run: python benchmarks/large.py
"""

import http.client
import json
import os
import tempfile
import time
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np

from crowdml import Device
from crowdml.bench.task import bench_task
from crowdml.demo import ServerProcess
from crowdml.device import write_checkin
from crowdml.models import Minibatch
from crowdml.privacy import CheckinKey, SystemChance, bound_rows
from crowdml.protocol import Task, terms_hash
from crowdml.server import Store

CLASSES, BATCH = 10, 20
CHECKINS = 20


def main() -> None:
    print("| | check-in, server | body | check-out | body | peak memory | device, CPU |")
    print("|---|---|---|---|---|---|---|")
    for size in (10**5, 10**6):
        for mechanism in ("direction", "laplace"):
            task = bench_task(mechanism, size // CLASSES, CLASSES, BATCH, mechanism)
            print(f"| {size:,} parameters, {mechanism} | {' | '.join(measure(task))} |", flush=True)


def measure(task: Task) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(Path(folder))
        with closing(Store(server.database)) as store:
            store.create_task(task)
        with server:
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            terms = terms_hash(task.terms.text)
            path = f"/v1/tasks/{task.name}"
            enrolled = _call(connection, "POST", f"{path}/devices", json.dumps({"terms": terms}))
            token = json.loads(enrolled)["token"]
            pid = server.process.pid if server.process else 0
            before = _cpu(pid)
            for number in range(1, CHECKINS + 1):
                body = _checkin(task, number)
                _call(connection, "POST", f"{path}/checkins", body, token)
            checkin = (_cpu(pid) - before) / CHECKINS
            before = _cpu(pid)
            model = _call(connection, "GET", f"{path}/model", None, token)
            checkout = _cpu(pid) - before
            device = _device(server, task, Path(folder) / "device")
            memory = _peak(pid)
    return [
        f"{1e3 * checkin:.0f} ms",
        f"{len(body):,}",
        f"{1e3 * checkout:.0f} ms",
        f"{len(model):,}",
        f"{memory / 2**20:.0f} MB",
        f"{1e3 * device:.0f} ms",
    ]


def _checkin(task: Task, number: int) -> bytes:
    mechanism, model = task.terms.mechanism(), task.terms.make_model()
    x = np.random.default_rng(0).normal(size=(BATCH, task.terms.features.count))
    minibatch = Minibatch(
        model, np.zeros(model.size), bound_rows(x, mechanism.norm), np.zeros(BATCH)
    )
    key = CheckinKey(terms_hash(task.terms.text), "device", number)
    event = mechanism.event(BATCH, key)
    checkin = write_checkin(mechanism, minibatch, event, key, SystemChance(), version=0)
    return msgspec.json.encode(checkin)


def _device(server: ServerProcess, task: Task, file: Path) -> float:
    """Measure the CPU of one check-in, with the samples that it takes."""
    x = np.random.default_rng(0).normal(size=(BATCH, task.terms.features.count))
    with Device.join(server.url, task.name, file=file) as device:
        began = time.process_time()
        for k, row in enumerate(x):
            device.add(row, k % CLASSES)
        return time.process_time() - began


def _call(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | str | None,
    token: str = "",
) -> bytes:
    connection.request(method, path, body, {"Authorization": f"Bearer {token}"} if token else {})
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status in (200, 201), content
    return content


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
