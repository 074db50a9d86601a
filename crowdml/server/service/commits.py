"""Commit check-ins in groups: check-ins that arrive during one commit share the next."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from crowdml.errors import Rejected
from crowdml.phrase import Phrase
from crowdml.protocol import Checkin, CheckinAnswer, rejected
from crowdml.server.database import DeviceRow, Store
from crowdml.server.log import Arrival
from crowdml.server.service.heartbeat import Heartbeat
from crowdml.server.service.served_task import PendingCheckin, ServedTask
from crowdml.server.service.threads import Threads


class Commits:
    """Queue the check-ins of all tasks until they are committed.

    Args:
        largest: How many check-ins may share a commit.
        threads: The threads that commit.
        heartbeat: What counts commits and failures.
        notify: Called after every commit.
    """

    def __init__(
        self, largest: int, threads: Threads, heartbeat: Heartbeat, notify: Callable[[], None]
    ) -> None:
        self._largest = largest
        self._threads = threads
        self._heartbeat = heartbeat
        self._notify = notify
        self._busy: dict[int, ServedTask] = {}
        self._arrived = asyncio.Event()

    async def checkin(
        self, served: ServedTask, device: DeviceRow, checkin: Checkin
    ) -> CheckinAnswer:
        """Wait for the commit that holds this check-in."""
        served.rules.check(checkin, device.name)
        answer: asyncio.Future[CheckinAnswer] = asyncio.get_running_loop().create_future()
        served.waiting.append(PendingCheckin(Arrival(device, checkin), answer))
        self._busy[served.learner.id] = served
        self._arrived.set()
        return await answer

    async def commit_groups(self) -> None:
        """Commit check-ins as they arrive, until cancelled."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            await self.commit_waiting()

    async def commit_waiting(self) -> None:
        """Answer all waiting check-ins, also where the task was deleted in the meantime."""
        busy, self._busy = self._busy, {}
        for served in busy.values():
            while served.waiting:
                answers = await self._threads.run_in_writer(partial(self._ingest, served))
                for waiting, answer in answers:
                    if waiting.answer.done():
                        continue
                    if isinstance(answer, CheckinAnswer):
                        waiting.answer.set_result(answer)
                    else:
                        waiting.answer.set_exception(answer)
                self._notify()

    def _ingest(
        self, served: ServedTask, _: Store
    ) -> list[tuple[PendingCheckin, CheckinAnswer | Rejected]]:
        """Commit a group of waiting check-ins, and list each with its answer."""
        began, learner = time.perf_counter(), served.learner
        group: list[PendingCheckin] = []
        taking = self._take(served.waiting, group)
        try:
            answers = learner.ingest(taking)
        except Rejected as rejection:
            answers = [rejection for _ in [*group, *taking]]
        except Exception as error:
            self._heartbeat.failed(error, learner.task.name)
            words = Phrase("the check-in was not stored. Send the same bytes again.")
            # Perhaps no check-in was taken yet.
            answers = [rejected("unavailable", words) for _ in [*group, *taking]]
        staleness = [
            answer.version - 1 - waiting.arrival.checkin.version
            for waiting, answer in zip(group, answers, strict=True)
            if isinstance(answer, CheckinAnswer) and answer.status == "applied"
        ]
        if staleness:
            self._heartbeat.counts.commit(learner.task.name, staleness, time.perf_counter() - began)
        return list(zip(group, answers, strict=True))

    def _take(
        self, waiting: deque[PendingCheckin], group: list[PendingCheckin]
    ) -> Iterator[Arrival]:
        """Take as many check-ins as may share a commit, and note them in `group`."""
        while waiting and len(group) < self._largest:
            group.append(waiting.popleft())
            yield group[-1].arrival
