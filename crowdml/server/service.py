"""The service: tasks by name, devices by token, and group commit of check-ins."""

import asyncio
import gc
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from crowdml.errors import Rejected
from crowdml.phrase import Phrase
from crowdml.protocol import Checkin, CheckinAnswer, Enrol, Enrolled, rejected
from crowdml.server.admission import Gate
from crowdml.server.heartbeat import Heartbeat
from crowdml.server.learner import Arrival, Learner
from crowdml.server.patience import Patience
from crowdml.server.settings import Settings
from crowdml.server.store import DeviceRow, Store
from crowdml.server.throttle import Throttle
from crowdml.server.tokens import token_sha256

__all__ = ["Live", "Service"]

T = TypeVar("T")
MOST_DEVICES = 65_536
"""Remembered by their tokens at once; memory must not grow with all who ever joined."""

BREATH = 0.05
"""Seconds between two looks at what others wrote: under load, every turn takes it in anyway."""

ENDED = {
    "left": Phrase("this device has left the task. Join again."),
    "revoked": Phrase("this device has been excluded by the task's owner. Join again."),
}
"""What a device is told that takes part no longer, by its status."""

log = logging.getLogger("crowdml.server")


class Waiting(NamedTuple):
    arrival: Arrival
    answer: "asyncio.Future[CheckinAnswer]"


class Live(NamedTuple):
    """A task with all that serves it.

    Args:
        learner: What decides.
        gate: What may be sent.
        throttle: How often.
        room: How many check-ins may be in memory at once; more wait unread.
        waiting: Those that have arrived, and whose turn is to come.
    """

    learner: Learner
    gate: Gate
    throttle: Throttle
    room: asyncio.Semaphore
    waiting: deque[Waiting]


class Service:
    """Everything behind the routes.

    All access to the store happens in one thread, so it needs no locks and its order is the
    order of the log.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ready = False
        self.heartbeat = Heartbeat(settings.heartbeat_seconds)
        self.counts = self.heartbeat.counts
        self.patience = Patience(settings.body_seconds)
        self._joins_from = Throttle(settings.joins_per_minute, burst=settings.joins_at_once)
        self._joins_to = Throttle(10 * settings.joins_per_minute, 10 * settings.joins_at_once)
        self._tasks: dict[str, Live] = {}
        self._busy: dict[int, Live] = {}
        self._devices: dict[bytes, DeviceRow] = {}
        self._arrived = asyncio.Event()
        self._changed = asyncio.Event()
        self.closing = asyncio.Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._watcher = ThreadPoolExecutor(max_workers=1, thread_name_prefix="watcher")
        self._background: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self._store = await self.in_store_thread(lambda: Store(self.settings.database))
        await self.in_store_thread(self._load)
        await self.in_store_thread(self._beat)
        self._background = [
            asyncio.create_task(self._beat_on()),
            asyncio.create_task(self._commit_groups()),
            asyncio.create_task(self._watch_store()),
            asyncio.create_task(self.patience.watch()),
        ]
        # What is here now stays; the collector need not look at it again and again.
        gc.freeze()
        self.ready = True
        log.info("node %s started", self.heartbeat.name)

    async def stop(self) -> None:
        """Commit what has arrived, take snapshots, close the store."""
        self.close()
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._commit_waiting()
        for live in self._tasks.values():
            await self.in_store_thread(live.learner.save_snapshot)
        await self.in_store_thread(self._beat)
        self._watcher.shutdown()
        await self.in_store_thread(self._store.close)
        self._thread.shutdown()
        log.info("node %s stopped", self.heartbeat.name)

    async def in_store_thread(self, function: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, function)
        except (SQLAlchemyError, OSError) as error:
            self.heartbeat.failed(error)
            raise rejected(
                "unavailable", Phrase("the database failed. Try again later.")
            ) from error

    # Tasks and devices

    def live(self, name: str) -> Live:
        try:
            return self._tasks[name]
        except KeyError:
            refusal = Phrase("there is no task {name}.", name=f"{name!r}")
            raise rejected("not-found", refusal) from None

    def serves(self, learner: Learner) -> bool:
        """Whether its task is still there."""
        live = self._tasks.get(learner.task.name)
        return live is not None and live.learner is learner

    def learners(self) -> list[Learner]:
        return [live.learner for live in self._tasks.values()]

    def known(self, learner: Learner, token: str | None) -> DeviceRow | None:
        """Who sent this, if that is an active device of this task which was here lately."""
        device = self._devices.get(token_sha256(token)) if token else None
        fine = device is not None and device.task == learner.id and device.status == "active"
        return device if fine else None

    async def device(self, learner: Learner, token: str | None) -> DeviceRow:
        """Who sent this; `Rejected` unless it is an active device of this task."""
        if not token:
            raise rejected("unauthorized", Phrase("a token is required: Authorization: Bearer …"))
        key = token_sha256(token)
        device = self._devices.get(key)
        if device is None:
            device = await self.in_store_thread(lambda: self._store.device(key))
            if len(self._devices) >= MOST_DEVICES:
                self._devices.clear()
        if device is None or device.task != learner.id:
            raise rejected("unauthorized", Phrase("the token is unknown to this task. Join again."))
        self._devices[key] = device
        if device.status != "active":
            raise rejected("revoked", ENDED[device.status])
        return device

    async def enrol(self, learner: Learner, request: Enrol, visitor: str | None = None) -> Enrolled:
        if learner.state.final:
            raise rejected(
                "task-finished",
                Phrase("the task has ended: {state}.", state=learner.state.phrase),
                state=learner.state,
            )
        if request.terms != learner.terms_sha256:
            raise rejected(
                "terms-changed",
                Phrase(
                    "terms must be {terms}, found {found}. Read the task's terms again before "
                    "joining.",
                    terms=learner.terms_sha256,
                    found=request.terms[:64],
                ),
            )
        if visitor is not None:
            self._joins_from.take(visitor)
        self._joins_to.take(learner.id)
        device, token = await self.in_store_thread(lambda: self._enrol(learner, request.invite))
        return Enrolled(device.name, token)

    def _enrol(self, learner: Learner, invite: str | None) -> tuple[DeviceRow, str]:
        invited = learner.task.enrolment.mode == "invite"
        enrolled = self._store.enrol(learner.id, invite, invited)
        learner.devices += 1
        return enrolled

    async def leave(self, device: DeviceRow) -> None:
        await self.in_store_thread(lambda: self._store.set_device_status(device.name, "left"))
        self._devices.clear()

    # What an owner does

    async def in_store(self, function: Callable[[Store], T]) -> T:
        """Use the store, in its thread, without changing what this service keeps in memory."""
        return await self.in_store_thread(lambda: function(self._store))

    async def steer(self, function: Callable[[Store], T]) -> T:
        """Change tasks, states or devices in the store, and take the change in at once."""
        result = await self.in_store(function)
        await self.in_store_thread(self._load)
        self.tell_listeners()
        return result

    # Check-ins

    async def checkin(self, live: Live, device: DeviceRow, checkin: Checkin) -> CheckinAnswer:
        """Wait for the commit that holds this check-in."""
        live.gate.check(checkin, device.name)
        answer: asyncio.Future[CheckinAnswer] = asyncio.get_running_loop().create_future()
        live.waiting.append(Waiting(Arrival(device, checkin), answer))
        self._busy[live.learner.id] = live
        self._arrived.set()
        return await answer

    async def news(self, seconds: float) -> None:
        """Return after the next change, but not before so many seconds nor much later."""
        changed = self._changed
        with suppress(TimeoutError):
            await asyncio.wait_for(self.closing.wait(), timeout=seconds)
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), timeout=10 * seconds)

    def tell_listeners(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def close(self) -> None:
        """Stop being ready, so that listeners leave and the server can end."""
        self.ready = False
        self.closing.set()
        self.tell_listeners()

    async def _commit_groups(self) -> None:
        """Whatever arrives during one commit shares the next."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            await self._commit_waiting()

    async def _commit_waiting(self) -> None:
        """Also where the task was deleted meanwhile: then the answer says so."""
        busy, self._busy = self._busy, {}
        for live in busy.values():
            while live.waiting:
                answers = await self.in_store_thread(partial(self._ingest, live))
                for waiting, answer in answers:
                    if waiting.answer.done():
                        continue
                    if isinstance(answer, CheckinAnswer):
                        waiting.answer.set_result(answer)
                    else:
                        waiting.answer.set_exception(answer)
                self.tell_listeners()

    def _ingest(self, live: Live) -> list[tuple[Waiting, CheckinAnswer | Rejected]]:
        """A group of those that wait, each with its answer."""
        began, learner = time.perf_counter(), live.learner
        group: list[Waiting] = []
        taking = self._take(live.waiting, group)
        try:
            answers = learner.ingest(taking)
        except Rejected as refusal:
            answers = [refusal for _ in [*group, *taking]]
        except Exception as error:
            self.heartbeat.failed(error, learner.task.name)
            words = Phrase("the check-in was not stored. Send the same bytes again.")
            # Perhaps none was taken yet.
            answers = [rejected("unavailable", words) for _ in [*group, *taking]]
        staleness = [
            answer.version - 1 - waiting.arrival.checkin.version
            for waiting, answer in zip(group, answers, strict=True)
            if isinstance(answer, CheckinAnswer) and answer.status == "applied"
        ]
        if staleness:
            self.counts.commit(learner.task.name, staleness, time.perf_counter() - began)
        return list(zip(group, answers, strict=True))

    def _take(self, waiting: deque[Waiting], group: list[Waiting]) -> Iterator[Arrival]:
        """As many as may share a commit, noted in `group`."""
        while waiting and len(group) < self.settings.largest_batch:
            group.append(waiting.popleft())
            yield group[-1].arrival

    # Other processes

    async def _beat_on(self) -> None:
        while True:
            await asyncio.sleep(self.settings.heartbeat_seconds)
            await self.in_store_thread(self._beat)

    def _beat(self) -> None:
        self.heartbeat.beat(self._store, self.learners())

    async def _watch_store(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            wait = partial(self._store.wait, self.settings.poll_seconds)
            await loop.run_in_executor(self._watcher, wait)
            try:
                if await self.in_store_thread(self._take_in):
                    self.tell_listeners()
                    await asyncio.sleep(BREATH)
            except Rejected:
                continue
            except Exception:
                log.exception("cannot take in what other processes wrote; trying again")

    def _take_in(self) -> bool:
        """What other processes wrote; whether there was anything."""
        news = self._store.news()
        if news.tasks:
            self._load()
        for live in self._tasks.values():
            learner = live.learner
            if not news.tasks and news.logs is not None and learner.id in news.logs:
                learner.refresh()
                learner.devices = self._store.count_devices(learner.id)
        return bool(news)

    def _load(self) -> None:
        """Take in new tasks, changed states, devices and check-ins; drop what was deleted."""
        wishes = self._store.wishes()
        self._tasks = {
            name: live for name, live in self._tasks.items() if live.learner.id in wishes
        }
        newest = max((live.learner.id for live in self._tasks.values()), default=0)
        for row in self._store.tasks(after=newest):
            entries, settings = self._store.log(row.id), self.settings
            learner = Learner(row, entries, settings.snapshot_every, settings.keep_told)
            gate = Gate(row.task.terms, learner.terms_sha256)
            self._tasks[row.task.name] = Live(
                learner,
                gate,
                Throttle(row.task.checkins_per_minute),
                asyncio.Semaphore(max(4, settings.most_waiting_bytes // gate.largest_body)),
                deque(),
            )
        for live in self._tasks.values():
            live.learner.refresh(wishes.get(live.learner.id))
            live.learner.devices = self._store.count_devices(live.learner.id)
        self._devices.clear()
