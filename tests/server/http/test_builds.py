"""Test that large answers are built once for all requests, a few at a time, without blocking."""

import asyncio
import threading
from collections import Counter

import pytest

from crowdml.learnt import LearntModel, write_model
from crowdml.server import Store
from crowdml.server.http import builds as module
from crowdml.server.http.builds import Exports, SharedBuilds
from tests.server.learners import arrivals, new_learner
from tests.support.servers import PATIENCE, make_task


def test_an_export_is_made_once_for_a_version(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that check-ins are applied during a build, and later requests get the newer version."""
    task, made, go = make_task(), Counter[str](), threading.Event()
    learner = new_learner(store, task)
    first, second = arrivals(task, 2)
    learner.ingest([first])
    write = write_model

    def write_slowly(model: LearntModel, format: str) -> bytes:
        made[format] += 1
        assert go.wait(PATIENCE)
        return write(model, format)

    monkeypatch.setattr(module, "write_model", write_slowly)

    async def ask() -> None:
        builds = SharedBuilds(at_once=2)
        exports = Exports(builds, most_bytes=10**6)
        early = [asyncio.create_task(exports.file(learner, "npz", "")) for _ in range(20)]
        while not made:
            await asyncio.sleep(0)
        learner.ingest([second])
        late = [asyncio.create_task(exports.file(learner, "npz", "")) for _ in range(20)]
        await asyncio.sleep(0)
        assert made == {"npz": 1}
        go.set()
        assert {file.version for file in await asyncio.gather(*early)} <= {1, 2}
        assert {file.version for file in await asyncio.gather(*late)} == {2}
        again = await exports.file(learner, "npz", "")
        assert again.version == 2
        assert made == {"npz": 2}
        assert (await exports.file(learner, "json", "br")).coding == "br"
        builds.close()

    asyncio.run(ask())


def test_files_do_not_fill_the_memory(store: Store) -> None:
    task = make_task()
    learner = new_learner(store, task)
    learner.ingest(arrivals(task, 1))

    async def ask() -> None:
        builds = SharedBuilds(at_once=1)
        exports = Exports(builds, most_bytes=5000)
        for _ in range(2):
            for kind in ("npz", "json", "onnx"):
                await exports.file(learner, kind, "")
                assert exports._bytes <= 5000 or len(exports._files) == 1
        builds.close()

    asyncio.run(ask())


def test_few_are_made_at_once() -> None:
    running, most, lock, pair = 0, 0, threading.Lock(), threading.Barrier(2)

    def make() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pair.wait(PATIENCE)
        with lock:
            running -= 1

    async def ask() -> None:
        builds = SharedBuilds(at_once=2)
        await asyncio.gather(*(builds.build_once(n, make) for n in range(30)))
        builds.close()

    asyncio.run(ask())
    assert most == 2
