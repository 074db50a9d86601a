"""Run Algorithm 1: a device that collects, checks out, sanitises and checks in."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from crowdml.device.current_model import CurrentModel
from crowdml.device.enrolment import JoinOptions, TermsOffer, check_join, enrol, joined_again, moved
from crowdml.device.exchange import Exchange
from crowdml.device.identity import Identity
from crowdml.device.membership import Membership
from crowdml.device.network import Transport
from crowdml.device.notices import Notices
from crowdml.device.outcome import Outcome
from crowdml.device.retry_timer import RetryTimer, check_seconds
from crowdml.device.storage import DeviceStore, Position, TakenBefore, Trail, default_file
from crowdml.privacy import Chance, Ledger, Limits, SystemChance
from crowdml.protocol import Readings, Terms


class Device:
    """Take part in one task.

    Samples stay on the device. A minibatch of b samples or more becomes one sanitised check-in:

        device = Device.join("https://crowd.example", "activity")
        device.add(x, y)
        device.leave()

    Methods may be called from any thread; in asyncio use `asyncio.to_thread(device.add, x, y)`.

    Args:
        store: The device's file.
        transport: The way to the server; by default HTTPS to where the device joined.
        chance: The source of every random value; by default the operating system's generator.
        retry_timer: When to try again; `RetryTimer(jitter=…)` hides when a minibatch became full.
        on_step: Called with the name of each step of a check-in, for progress and tests.
    """

    def __init__(
        self,
        store: DeviceStore,
        transport: Transport | None = None,
        chance: Chance | None = None,
        retry_timer: RetryTimer | None = None,
        on_step: Callable[[str], None] = lambda step: None,
    ) -> None:
        self._store = store
        self._retry_timer = retry_timer or RetryTimer()
        self._notices = Notices()
        self._lock = threading.RLock()
        self._membership = Membership(store, transport, self._retry_timer)
        self._model = CurrentModel(self._membership)
        settings = (chance or SystemChance(), self._retry_timer, self._notices, on_step)
        self._exchange = Exchange(store, self._membership, *settings)

    @classmethod
    def join(
        cls,
        url: str,
        task: str,
        *,
        file: Path | str | None = None,
        transport: Transport | None = None,
        chance: Chance | None = None,
        retry_timer: RetryTimer | None = None,
        on_step: Callable[[str], None] = lambda step: None,
        **join_options: Unpack[JoinOptions],
    ) -> "Device":
        """Join a task, or continue with it if the file has joined it before.

        The terms that the server shows are pinned. Joining again changes only the given limits.

        Args:
            url: The server's root.
            task: The task's name.
            file: The device's file; by default one per task in the user's data folder.
            transport, chance, retry_timer, on_step: As for `Device`.
            join_options: What the participant asks for: see `JoinOptions`.
        """
        check_join(url, task, file, join_options)
        path = Path(file) if file else default_file(task)
        created = not path.exists()
        store = DeviceStore(path)
        try:
            known = store.identity
            if known:
                store.identity = joined_again(known, store.file, url, task, **join_options)
            else:
                store.join(enrol(url, task, transport, **join_options))
            return cls(store, transport, chance, retry_timer, on_step)
        except BaseException:
            unused = created and store.identity is None
            store.close()
            if unused:
                store.remove()
            raise

    @property
    def terms(self) -> Terms:
        """Return the terms that were agreed to."""
        return self._membership.agreement.terms

    @property
    def ledger(self) -> Ledger:
        """Return what this device has sent in this task, and what it cost."""
        return self._store.ledger

    @property
    def n_answered(self) -> int:
        """Count the check-ins that the server has answered."""
        return sum(answer != "waiting" for answer in self._store.answers.values())

    @property
    def identity(self) -> Identity:
        """Return who the device is to the server, and where the server is."""
        return self._membership.identity

    @property
    def n_samples(self) -> int:
        """Count the samples in the buffer."""
        return self._store.n_samples

    @property
    def pending(self) -> bool:
        """Return whether a check-in waits to be sent or answered."""
        return self._store.pending_checkin is not None

    @property
    def ended(self) -> str | None:
        """Return why the device has stopped, by itself or with the task; None while it runs."""
        return self._membership.ended

    def trail(self, again: bool = False) -> Trail:
        """Return the trail of lines that this task has taken; `again` allows to take them again."""
        return Trail(self._store.account, self._membership.identity.task, again)

    def position(self, path: str) -> Position | None:
        """Return the position up to which a source of samples was taken."""
        return self._store.position(path)

    def predict(self, x: Readings) -> str | float:
        """Predict a label's name or a number for x with the crowd's model; nothing is sent about x.

        The model is the one that is exported. It is fetched when it is first needed and renewed
        after an hour, if the server can be reached.

        Args:
            x: Readings, as for `add`.

        Raises:
            InvalidSample: x breaks a rule.
            Rejected: The task has learnt nothing yet.
            TermsChanged: The server has learnt it on other terms than those agreed to.
        """
        self._membership.agreement.features(x)
        with self._lock:
            model = self._model.get()
        row: Any = x if isinstance(x, Mapping) else [x]
        prediction: str | float = model.predict(row)[0].item()
        return prediction

    # Routine 1

    def add(
        self, x: Readings, y: object, position: Position | None = None, durable: bool = False
    ) -> Outcome:
        """Keep a sample, and check in if a minibatch is full and the time has come.

        Args:
            x: Readings by name, such as `{"temperature": 21.5, "light": 300}`, or in the order of
                the task's names; None or NaN where one is missing. They are scaled by the task's
                constants and rescaled to ‖x‖ ≤ 1 if longer, in the norm of its mechanism.
            y: A label by its name, or a real target.
            position: Where in a source it came from, to be remembered with it.
            durable: Wait until sample and position are on disk, since the source forgets them then.

        Raises:
            InvalidSample: x or y breaks a rule; nothing was kept.

        Paper: Algorithm 1, Device Routine 1.
        """
        agreement = self._membership.agreement
        features, target = agreement.features(x), agreement.target(y)
        with self._lock:
            self._membership.refresh()
            if self.ended:
                return Outcome.ENDED
            most = self._membership.agreement.terms.collection.buffer
            try:
                summary = self._store.add(features, target, most, position, durable)
                if summary is None:
                    outcome = self._exchange.sync(self._store.summary)
                    if self.ended:
                        return Outcome.ENDED
                    summary = self._store.add(features, target, most, position, durable)
            except TakenBefore:
                return Outcome.TAKEN
            if summary is None:
                self._notices.log_once(f"the buffer is full: collection has stopped ({outcome}).")
                return Outcome.FULL
            return self._exchange.sync(summary)

    def discard(self, n: int) -> None:
        """Forget the newest n samples in the buffer."""
        with self._lock:
            self._store.discard(n)

    def sync(self) -> Outcome:
        """Send what waits, then check in a full minibatch, if the time has come."""
        with self._lock:
            self._membership.refresh()
            return Outcome.ENDED if self.ended else self._exchange.sync(self._store.summary)

    def flush(self, seconds: float = 60.0) -> Outcome:
        """Retry until nothing more may be sent, or until the time is over."""
        deadline = time.monotonic() + check_seconds("seconds", seconds)
        while True:
            outcome = self.sync()
            stuck = outcome in (Outcome.LIMIT, Outcome.TERMS, Outcome.ENDED)
            done = stuck or not self._exchange.has_work(self._store.summary)
            if done or time.monotonic() >= deadline:
                return outcome
            time.sleep(max(min(self._retry_timer.seconds, deadline - time.monotonic()), 0.01))

    def excluded(self) -> str | None:
        """Ask the server whether it still knows this device; return the reason if it does not."""
        with self._lock:
            return self._membership.ask_exclusion()

    def current_terms(self) -> TermsOffer:
        """Fetch the terms that the server has now, which may differ from those agreed to."""
        return self._membership.current_terms()

    def agree(self, terms_sha256: str) -> Terms:
        """Pin the task's current terms in place of the old ones.

        Args:
            terms_sha256: The hash of what the participant was shown, from `current_terms`.

        Raises:
            TermsChanged: The server has other terms than those shown; nothing was pinned.
        """
        with self._lock:
            return self._membership.agree(terms_sha256)

    def set_limits(self, limits: Limits) -> None:
        """Change the participant's limits."""
        with self._lock:
            self._membership.require_membership()
            self._membership.store_identity(replace(self._membership.identity, limits=limits))

    def move(self, url: str, fingerprint: str | None = None, insecure_http: bool = False) -> None:
        """Continue at another address of the server, or with another certificate.

        Identity, terms, ledger and samples stay. Nothing changes unless the server there has the
        task on the agreed terms, and knows this device.

        Args:
            url: The server's root.
            fingerprint: SHA-256 of the only certificate to trust; None for the system's.
            insecure_http: Allow plain HTTP beyond loopback.
        """
        with self._lock:
            member = self._membership
            member.require_membership()
            member.store_identity(moved(member.identity, url, fingerprint, insecure_http))

    def leave(self, erase: bool = True) -> None:
        """Leave the task on the server, if it can be reached, and erase everything here.

        The account keeps what was sent; with `erase=False` the file keeps its ledger too.
        """
        with self._lock:
            self._membership.leave(erase, self._notices)

    def close(self) -> None:
        """Close the connection and the file. Nothing is lost: `Device` opens it again."""
        self._membership.close()

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
