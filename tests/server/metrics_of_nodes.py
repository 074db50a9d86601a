"""Run nodes on one database, and read their metrics as Prometheus does."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from prometheus_client.parser import text_string_to_metric_families

from tests.support.servers import FaultyServer, HttpClient, create, make_task

BEAT = 0.1
"""Seconds between two heartbeats: short, so that no test waits long."""

Series: TypeAlias = dict[tuple[str, frozenset[tuple[str, str]]], float]
"""The value of each sample by its name and its labels."""


@contextmanager
def nodes(folder: Path, database: str, n: int = 2, **settings: Any) -> Iterator[list[FaultyServer]]:
    """Start equal servers for the task `activity`, and stop them all in the end."""
    create(database, make_task())
    options = {"heartbeat_seconds": BEAT} | settings
    with ExitStack() as stack:
        started = []
        for index in range(n):
            process = FaultyServer(folder / f"node-{index}", shared=database, settings=options)
            stack.callback(process.kill)
            started.append(process.start())
        yield started


def scrape(wire: HttpClient, **headers: str) -> Series:
    reply = wire.call("GET", "/metrics", headers=headers)
    assert reply.status == 200, reply.body
    families = text_string_to_metric_families(reply.body.decode())
    series = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }
    assert series
    return series


def total(series: Series, name: str, by: str = "node", **labels: str) -> dict[str, float]:
    """Sum the samples that have these labels, by another label."""
    sums: dict[str, float] = defaultdict(float)
    for (found, pairs), value in series.items():
        if found == name and pairs >= labels.items():
            sums[dict(pairs).get(by, "")] += value
    return dict(sums)
