"""Test what the service keeps in memory."""

import asyncio
from pathlib import Path

import pytest

from crowdml.server import Settings, Store
from crowdml.server.service import registry as module
from crowdml.server.service.service import Service
from tests.support.servers import PATIENCE, make_task


def test_not_everyone_who_ever_called_is_remembered(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = store.create_task(make_task()).id
    enrolled = [store.enrol(task, None, False) for _ in range(10)]
    monkeypatch.setattr(module, "MOST_DEVICES", 3)

    async def call() -> None:
        service = Service(Settings(database=f"sqlite:///{tmp_path / 'store.db'}"))
        await service.start()
        learner = service.registry.task("activity").learner
        for device, token in enrolled * 2:
            assert await service.registry.device(learner, token) == device
            assert len(service.registry._devices) <= 3
        await service.stop()

    asyncio.run(call())


def test_a_change_at_the_last_moment_does_not_keep_it_from_stopping(tmp_path: Path) -> None:
    async def stop() -> None:
        service = Service(Settings(f"sqlite:///{tmp_path / 'store.db'}", events_seconds=0.01))
        await service.start()
        news = service.listeners.news
        service.listeners.request_wake()
        await news.wait()
        # After its pause, the task that notifies listeners waits for the next change.
        await asyncio.sleep(0.05)
        service.listeners.request_wake()
        async with asyncio.timeout(PATIENCE):
            await service.stop()

    asyncio.run(stop())
