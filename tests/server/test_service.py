"""What the service keeps in memory."""

import asyncio
from pathlib import Path

import pytest

from crowdml.server import Settings, Store
from crowdml.server import service as module
from crowdml.server.service import Service
from tests.servers import make_task


def test_not_everyone_who_ever_called_is_remembered(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = store.create_task(make_task()).id
    enrolled = [store.enrol(task, None, False) for _ in range(10)]
    monkeypatch.setattr(module, "MOST_DEVICES", 3)

    async def call() -> None:
        service = Service(Settings(database=f"sqlite:///{tmp_path / 'store.db'}"))
        await service.start()
        learner = service.live("activity").learner
        for device, token in enrolled * 2:
            assert await service.device(learner, token) == device
            assert len(service._devices) <= 3
        await service.stop()

    asyncio.run(call())
