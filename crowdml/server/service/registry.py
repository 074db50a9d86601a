"""Find tasks by name and devices by token, and follow the database."""

from collections import deque
from functools import partial

from crowdml.phrase import Phrase
from crowdml.protocol import Enrol, Enrolled, rejected
from crowdml.server.database import DeviceRow, Store, invite_required, token_sha256
from crowdml.server.log import ENDED, CheckinRules, Learner
from crowdml.server.service.served_task import PendingLimit, ServedTask
from crowdml.server.service.threads import Threads
from crowdml.server.settings import Settings
from crowdml.server.throttle import Throttle

MOST_DEVICES = 65_536
"""The most tokens that are kept in memory, so that memory is bounded."""


class Registry:
    """Hold the tasks of the database, and the devices that were seen recently.

    `load` and `apply_changes` run in the store's thread, everything else in the event loop.
    """

    def __init__(self, settings: Settings, threads: Threads) -> None:
        self._settings = settings
        self._threads = threads
        self._joins_from = Throttle(settings.joins_per_minute, burst=settings.joins_at_once)
        self._joins_to = Throttle(10 * settings.joins_per_minute, 10 * settings.joins_at_once)
        self._tasks: dict[str, ServedTask] = {}
        self._devices: dict[bytes, DeviceRow] = {}

    def task(self, name: str) -> ServedTask:
        try:
            return self._tasks[name]
        except KeyError:
            rejection = Phrase("there is no task {name}.", name=f"{name!r}")
            raise rejected("not-found", rejection) from None

    def serves(self, learner: Learner) -> bool:
        """Return whether the task still exists."""
        served = self._tasks.get(learner.task.name)
        return served is not None and served.learner is learner

    def learners(self) -> list[Learner]:
        return [served.learner for served in self._tasks.values()]

    def cached_device(self, learner: Learner, token: str | None) -> DeviceRow | None:
        """Return the sender, if it is an active device of this task that was seen recently."""
        device = self._devices.get(token_sha256(token)) if token else None
        fine = device is not None and device.task == learner.id and device.status == "active"
        return device if fine else None

    async def device(self, learner: Learner, token: str | None) -> DeviceRow:
        """Return the sender; raise `Rejected` unless it is an active device of this task."""
        if not token:
            raise rejected("unauthorized", Phrase("a token is required: Authorization: Bearer …"))
        key = token_sha256(token)
        device = self._devices.get(key)
        if device is None:
            devices = self._devices
            device = await self._threads.run_in_reader(lambda store: store.device(key))
            if len(devices) >= MOST_DEVICES:
                devices.clear()
            if device is not None:
                # Not into a newer dictionary: this row may be older than a change.
                devices[key] = device
        if device is None or device.task != learner.id:
            raise rejected("unauthorized", Phrase("the token is unknown to this task. Join again."))
        if device.status != "active":
            raise ENDED[device.status]
        return device

    async def enrol(self, learner: Learner, request: Enrol, visitor: str | None = None) -> Enrolled:
        if learner.state.final:
            words = Phrase("the task has ended: {state}.", state=learner.state.phrase)
            raise rejected("task-finished", words, state=learner.state)
        if request.terms != learner.terms_sha256:
            words = Phrase(
                "terms must be {terms}, found {found}. Read the task's terms again before joining.",
                terms=learner.terms_sha256,
                found=request.terms[:64],
            )
            raise rejected("terms-changed", words)
        if visitor is not None:
            self._joins_from.take(visitor)
        invite = request.invite
        if learner.task.enrolment.mode == "invite" and not await self._threads.run_in_reader(
            lambda store: store.invites.uses(learner.id, invite)
        ):
            # Before the task's join limit: strangers must not use up what invited people need.
            raise invite_required(invite)
        self._joins_to.take(learner.id)
        device, token = await self._threads.run_in_writer(
            partial(self._enrol, learner, invite, visitor)
        )
        return Enrolled(device.name, token)

    def _enrol(
        self, learner: Learner, invite: str | None, visitor: str | None, store: Store
    ) -> tuple[DeviceRow, str]:
        invited = learner.task.enrolment.mode == "invite"
        enrolled = store.enrol(learner.id, invite, invited, visitor)
        learner.devices += 1
        return enrolled

    async def leave(self, learner: Learner, device: DeviceRow) -> None:
        def leave(store: Store) -> None:
            store.set_device_status(device.name, "left")
            learner.refresh(store.owner_settings().get(learner.id))

        await self._threads.run_in_writer(leave)
        self._devices = {}

    def apply_changes(self, store: Store) -> bool:
        """Apply what other processes wrote, and return whether there was anything."""
        changes = store.changes()
        if changes.tasks:
            self.load(store)
        for served in self._tasks.values():
            learner = served.learner
            if not changes.tasks and changes.logs is not None and learner.id in changes.logs:
                learner.refresh()
                learner.devices = store.count_devices(learner.id)
        return bool(changes)

    def load(self, store: Store) -> None:
        """Load new tasks, changed states, devices and check-ins; drop what was deleted."""
        owner_settings = store.owner_settings()
        tasks = {
            name: served
            for name, served in self._tasks.items()
            if served.learner.id in owner_settings
        }
        newest = max((served.learner.id for served in tasks.values()), default=0)
        for row in store.tasks(after=newest):
            log, settings = store.log(row.id), self._settings
            learner = Learner(row, log, settings.snapshot_every, settings.keep_payloads)
            rules = CheckinRules(row.task.terms, learner.terms_sha256)
            tasks[row.task.name] = ServedTask(
                learner,
                rules,
                PendingLimit(settings.most_checkins_per_device),
                deque(),
            )
        for served in tasks.values():
            served.learner.refresh(owner_settings.get(served.learner.id))
            served.learner.devices = store.count_devices(served.learner.id)
        # Last, and in one assignment: other threads read it at the same time.
        self._tasks = tasks
        self._devices = {}
