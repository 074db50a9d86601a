"""Test limits on joining per address and per task that still let in a class behind one address."""

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from crowdml.errors import Rejected
from crowdml.protocol import Enrol
from crowdml.server import Settings
from crowdml.server.service.service import Service
from crowdml.server.throttle import MOST_KEYS, Throttle
from tests.support.servers import create, make_task


@pytest.fixture
def service(tmp_path: Path) -> Service:
    database = f"sqlite:///{tmp_path}/server.db"
    create(database, make_task("first"), make_task("second"))
    return Service(Settings(database, joins_per_minute=0.001, joins_at_once=5))


async def joined(service: Service, task: str, visitors: Sequence[str | None]) -> list[bool]:
    learner = service.registry.task(task).learner
    found = []
    for visitor in visitors:
        try:
            await service.registry.enrol(learner, Enrol(terms=learner.terms_sha256), visitor)
            found.append("joined")
        except Rejected as rejection:
            found.append(rejection.kind)
    assert set(found) <= {"joined", "too-frequent"}
    return [each == "joined" for each in found]


def test_joining_is_limited_by_address_and_by_task(service: Service) -> None:
    async def run() -> None:
        await service.start()
        try:
            here = await joined(service, "first", ["203.0.113.5"] * 8)
            assert here == [True] * 5 + [False] * 3
            assert await joined(service, "second", ["203.0.113.5"]) == [False], "whatever the task"
            assert await joined(service, "first", ["203.0.113.6"]) == [True], "others may"
            many = [f"198.51.100.{n}" for n in range(60)]
            assert (await joined(service, "first", many)).count(True) == 50 - 6, "ten times that"
            assert all(await joined(service, "second", [None] * 20)), "a proxy speaks for many"
            assert service.registry.task("first").learner.devices == 50
        finally:
            await service.stop()

    asyncio.run(run())


def test_strangers_do_not_use_up_what_invited_people_need(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/server.db"
    create(database, make_task("private", enrolment__mode="invite"))
    service = Service(Settings(database, joins_per_minute=0.001, joins_at_once=5))

    async def run() -> None:
        await service.start()
        try:
            learner = service.registry.task("private").learner
            code = await service.run_in_writer(lambda store: store.invites.create(learner.id, 1))
            for n in range(60):
                wrong = Enrol(terms=learner.terms_sha256, invite="guess" if n % 2 else None)
                with pytest.raises(Rejected, match="needs a valid invite"):
                    await service.registry.enrol(learner, wrong, f"198.51.100.{n}")
            right = Enrol(terms=learner.terms_sha256, invite=code)
            assert await service.registry.enrol(learner, right, "203.0.113.5")
            with pytest.raises(Rejected, match="used up"):
                await service.registry.enrol(learner, right, "203.0.113.6")
        finally:
            await service.stop()

    asyncio.run(run())


def test_a_class_may_join_together() -> None:
    assert Settings().joins_at_once >= 200


def test_memory_does_not_grow_with_past_visitors() -> None:
    throttle = Throttle(1.0, clock=itertools.count().__next__)
    for n in range(MOST_KEYS + 10):
        throttle.take(n)
    assert len(throttle._buckets) <= MOST_KEYS
