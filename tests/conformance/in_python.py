"""Drive the package's device in this process."""

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from crowdml.device import Account, Device, DeviceStore, Outcome, RetryTimer
from crowdml.device.membership import ALL_MADE, COPIED, LEFT
from crowdml.device.storage.account import ACCOUNT_FILE
from crowdml.errors import CrowdmlError
from crowdml.privacy import Limits
from tests.conformance.scene import BATCH, COST, Scene
from tests.conformance.subject import PROBES
from tests.conformance.table import Seen
from tests.support.servers import LABELS

X = [0.1, 0.2, 0.3, 0.4]
HELD = {Outcome.WAITING: "waiting", Outcome.PAUSED: "paused", Outcome.TERMS: "terms changed"}


class PythonDevice:
    name = "python"

    def __init__(self, url: str, scene: Scene, folder: Path) -> None:
        self.scene, self.url, self.file = scene, url, folder / "device"
        self.copy = folder / "copy"
        self.now = 0.0
        self._device: Device | None = None

    def _retry_timer(self) -> RetryTimer:
        return RetryTimer(clock=lambda: self.now, sleep=self.advance)

    def advance(self, seconds: float) -> None:
        self.now += seconds

    def join(self, limit: float | None = None) -> None:
        limits = Limits(COST, limit) if limit else None
        self.retry_timer = self._retry_timer()
        self._device = Device.join(
            self.url, self.scene.name, file=self.file, retry_timer=self.retry_timer, limits=limits
        )

    @property
    def device(self) -> Device:
        assert self._device is not None, "it has joined"
        return self._device

    def feed(self, n: int) -> None:
        for i in range(n):
            self.device.add(X, LABELS[i % 3])

    def sync(self) -> None:
        self.device.sync()

    def wake(self) -> None:
        self.advance(36_000.0)
        self.sync()

    def open(self) -> None:
        """Open the file as a new process does."""
        self.close()
        self.retry_timer, self._device = self._retry_timer(), None
        self._device = Device(DeviceStore(self.file), retry_timer=self.retry_timer)

    def start(self) -> None:
        self.device.close()
        if self.file.exists():
            self.open()
            self.sync()

    def other_leaves(self) -> None:
        if self.file.exists():
            Device(DeviceStore(self.file)).leave()
        self.scene.heard.clear()
        self.sync()

    def agree(self) -> None:
        with suppress(CrowdmlError):
            self.device.agree(self.device.current_terms().sha256)

    def raise_limit(self) -> None:
        with suppress(CrowdmlError):
            self.device.set_limits(Limits(COST, COST * self.scene.checkins))

    def leave(self) -> None:
        self.device.leave()

    def wait(self) -> float:
        return self.retry_timer.seconds

    def look(self) -> Seen:
        device, n_sent = self.device, len(self.device._store.account.statement.entries)
        if device.ended == LEFT:
            return Seen("left", 0, None, n_sent)
        checkin = device._store.pending_checkin
        return Seen(self._state(), device.n_samples, checkin.body if checkin else None, n_sent)

    def _state(self) -> str:
        device = self.device
        if device.ended:
            kept = {ALL_MADE: "all check-ins made", COPIED: "copied", None: "task finished"}
            return kept.get(device.identity.ended, "revoked")
        if self.retry_timer.seconds:
            return HELD[self.retry_timer.reason]
        room = device.identity.limits.per_device - device.ledger.epsilon_spent
        if device.n_samples >= BATCH and room < COST:
            return "at the limit"
        return "waiting" if device.pending else "collecting"

    def back_up(self) -> None:
        with closing(sqlite3.connect(self.file)) as live, closing(sqlite3.connect(self.copy)) as to:
            live.backup(to)

    def restore(self) -> None:
        self.device.close()
        shutil.copyfile(self.copy, self.file)
        self.start()

    def lose_record(self) -> None:
        self.device.close()
        (self.file.parent / ACCOUNT_FILE).unlink()
        self.open()

    def die_at_the_record(self, written: bool) -> None:
        claim = Account.claim_number

        def dying(account: Account, *given: Any) -> bool:
            if written:
                claim(account, *given)
            raise KeyboardInterrupt

        with patch.object(Account, "claim_number", dying), suppress(KeyboardInterrupt):
            self.feed(BATCH)

    def again(self) -> str:
        self.scene.heard.clear()
        if not (self.device.ended or self.device.pending):
            self.feed(max(BATCH - self.device.n_samples, 0))
        start = self.now
        for seconds, word in PROBES:
            self.now = start + seconds
            self.sync()
            if self.scene.heard:
                return word
        return "never by itself"

    def close(self) -> None:
        if self._device:
            self._device.close()
