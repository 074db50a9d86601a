"""Algorithm 1: a device that collects, checks out, sanitises and checks in."""

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Unpack

import numpy.typing as npt

from crowdml.device.account import Account, Trail
from crowdml.device.agreement import Agreement, require_successor
from crowdml.device.enrolment import (
    Offer,
    Wishes,
    enrol,
    joined_again,
    moved,
    read_terms,
)
from crowdml.device.outcome import Outcome
from crowdml.device.store import (
    DeviceStore,
    Identity,
    Letter,
    Position,
    Standing,
    TakenBefore,
    default_file,
)
from crowdml.device.transport import HttpTransport, Transport
from crowdml.device.waiting import Waiting
from crowdml.errors import (
    CrowdmlError,
    DeviceError,
    LimitReached,
    Rejected,
    TermsChanged,
    Unreachable,
)
from crowdml.learnt import LearntModel
from crowdml.privacy import (
    Chance,
    Ledger,
    Limits,
    SystemChance,
)
from crowdml.protocol import Terms
from crowdml.types import Array

__all__ = ["Device"]

log = logging.getLogger("crowdml.device")

GIVE_UP_ON = {"revoked", "unauthorized"}
"""Refusals after which this device can never check in again."""


KEEP_AFTER = {
    "fault", "method-not-allowed", "not-found", "task-paused", "too-frequent", "unavailable",
    "unknown",
}  # fmt: skip
"""Refusals after which the same bytes may still be accepted later."""


LONGEST_WAIT = 3600.0
FRESH = 3600.0
"""Seconds after which a model to predict with is renewed."""

LEFT = "left"
ALL_MADE = "all check-ins that you agreed to are made. Thank you."


class Device:
    """Takes part in one task.

    Three lines are enough; samples leave only as sanitised averages of b or more:

        device = Device.join("https://crowd.example", "activity")
        device.add(x, y)
        device.leave()

    All methods are synchronous and may be called from any thread; from asyncio use
    `await asyncio.to_thread(device.add, x, y)`.

    Args:
        store: The device's file.
        transport: The way to the server; by default HTTPS to where the device joined.
        chance: All that is random; by default from the operating system's secure generator.
        waiting: When to try again; `Waiting(jitter=…)` hides when a minibatch became full.
        on_step: Called with the name of each step of a check-in, for progress and tests.
    """

    def __init__(
        self,
        store: DeviceStore,
        transport: Transport | None = None,
        chance: Chance | None = None,
        waiting: Waiting | None = None,
        on_step: Callable[[str], None] = lambda step: None,
    ) -> None:
        identity = store.identity
        if identity is None:
            raise DeviceError(f"{store.file} has not joined a task. Join one first.")
        self._store = store
        self._chance = chance or SystemChance()
        self._waiting = waiting or Waiting()
        self._on_step = on_step
        self._lock = threading.RLock()
        self._said = ""
        self._over: str | None = None
        self._gone = False
        self._model: LearntModel | None = None
        self._old = 0.0
        self._identity = identity
        self._agreement = Agreement(identity)
        self._follows = transport is None
        self._transport = transport or _connect(identity)
        if self.ended is None and self._fulfilled() and not self.pending:
            self._end(ALL_MADE)  # a process that was killed could not say so

    @classmethod
    def join(
        cls,
        url: str,
        task: str,
        *,
        file: Path | str | None = None,
        transport: Transport | None = None,
        chance: Chance | None = None,
        waiting: Waiting | None = None,
        on_step: Callable[[str], None] = lambda step: None,
        **wishes: Unpack[Wishes],
    ) -> "Device":
        """Join a task, or go on with it if the file has joined it before.

        The terms that the server shows are pinned: see `terms`. Joining again changes nothing but
        the limits, if they are given, and is refused with other terms than the pinned ones.

        Args:
            url: The server's root.
            task: The task's name.
            file: The device's file; by default one per task in the user's data folder.
            transport, chance, waiting, on_step: As for `Device`.
            wishes: What the participant asks for: see `Wishes`.
        """
        path = Path(file) if file else default_file(task)
        created = not path.exists()
        store = DeviceStore(path)
        try:
            known = store.identity
            store.identity = (
                joined_again(known, store.file, url, task, **wishes)
                if known
                else enrol(url, task, transport, **wishes)
            )
            return cls(store, transport, chance, waiting, on_step)
        except BaseException:
            refused = created and store.identity is None
            store.close()
            if refused:
                store.remove()
            raise

    # What a participant can ask

    @property
    def terms(self) -> Terms:
        """What was agreed to."""
        return self._agreement.terms

    @property
    def ledger(self) -> Ledger:
        """What this device has told in this task, and what it cost."""
        return self._store.ledger

    @property
    def answers(self) -> dict[str, str]:
        """What the server said to each check-in, in order."""
        return self._store.answers

    @property
    def n_answered(self) -> int:
        """Check-ins that the server has answered."""
        return sum(answer != "waiting" for answer in self.answers.values())

    @property
    def identity(self) -> Identity:
        """Who the device is to the server, and where that is."""
        return self._identity

    @property
    def n_samples(self) -> int:
        """Samples in the buffer."""
        return self._store.n_samples

    @property
    def pending(self) -> bool:
        """Whether a check-in waits to be sent or answered."""
        return self._store.pending is not None

    @property
    def ended(self) -> str | None:
        """Why the device has stopped, for good or because the task has ended, if it has."""
        return self._identity.ended or self._over

    @property
    def account(self) -> Account:
        """What all devices of this one's folder told, over all tasks."""
        return self._store.account

    def trail(self, again: bool = False) -> Trail:
        """Which lines of files this task has taken; they may be taken again if that is asked."""
        return Trail(self._store.account, self._identity.task, again)

    def position(self, path: str) -> Position | None:
        """How far a source of samples was taken."""
        return self._store.position(path)

    def predict(self, x: npt.ArrayLike) -> str | float:
        """What the crowd's model says of x, a label's name or a number; nothing is told of x.

        The model is the one that is exported. It is fetched when it is first needed and renewed
        after an hour, if the server can be reached.

        Args:
            x: D numbers, as for `add`.

        Raises:
            InvalidSample: x breaks a rule.
            Rejected: The task has learnt nothing yet.
            TermsChanged: The server has learnt it on other terms than those agreed to.
        """
        features = self._agreement.features(x)
        with self._lock:
            self._refresh()
            known = self._agreement.terms_sha256
            model = self._model
            if model is None or known != model.about.terms_sha256 or time.monotonic() > self._old:
                try:
                    model = self._agreement.accept_learnt(self._transport.learnt())
                except Unreachable:
                    if model is None:
                        raise
                self._model, self._old = model, time.monotonic() + FRESH
        answer: str | float = model.predict(features[None])[0].item()
        return answer

    # Routine 1

    def add(
        self,
        x: npt.ArrayLike,
        y: object,
        position: Position | None = None,
        durable: bool = False,
    ) -> Outcome:
        """Keep a sample, and check in if a minibatch is full and the time has come.

        Args:
            x: D numbers; rescaled to ‖x‖ ≤ 1 if longer, in the norm of the task's mechanism.
            y: A label, by its name or its number 0 … C−1, or a real target.
            position: Where in a source it came from, to be remembered with it.
            durable: Wait until sample and position are on disk, since the source forgets them then.

        Raises:
            InvalidSample: x or y breaks a rule; nothing was kept.

        Paper: Algorithm 1, Device Routine 1.
        """
        features, target = self._agreement.features(x), self._agreement.target(y)
        with self._lock:
            self._refresh()
            if self.ended:
                return Outcome.ENDED
            most = self._agreement.terms.collection.buffer
            try:
                standing = self._store.add(features, target, most, position, durable)
                if standing is None:
                    outcome = self._sync(self._store.standing)
                    if self.ended:
                        return Outcome.ENDED
                    standing = self._store.add(features, target, most, position, durable)
            except TakenBefore:
                return Outcome.TAKEN
            if standing is None:
                self._say(f"the buffer is full: collection has stopped ({outcome}).")
                return Outcome.FULL
            return self._sync(standing)

    def sync(self) -> Outcome:
        """Send what waits, then check in a full minibatch, if the time has come."""
        with self._lock:
            self._refresh()
            return Outcome.ENDED if self.ended else self._sync(self._store.standing)

    def _sync(self, standing: Standing) -> Outcome:
        if self.ended:
            return Outcome.ENDED
        if not self._something_to_do(standing):
            return Outcome.COLLECTED
        if self._fills_a_batch(standing):
            self._waiting.batch_filled()
        if not self._waiting.due:
            return self._waiting.why
        try:
            return self._attempt()
        except Unreachable as error:
            self._say(f"{error} Samples are kept; will try again.")
            return self._waiting.hold(Outcome.WAITING, _patience(error.retry_after))
        except LimitReached as error:
            self._say(str(error))
            return Outcome.LIMIT
        except TermsChanged as error:
            self._say(str(error))
            return self._await_consent()
        except Rejected as error:
            return self._refused(error)

    def flush(self, seconds: float = 60.0) -> Outcome:
        """Retry until nothing is left that may be sent, or the time is over."""
        deadline = time.monotonic() + seconds
        while True:
            outcome = self.sync()
            done = not self._something_to_do(self._store.standing) or outcome in (
                Outcome.LIMIT, Outcome.TERMS, Outcome.ENDED
            )  # fmt: skip
            if done or time.monotonic() >= deadline:
                return outcome
            time.sleep(max(min(self._waiting.seconds, deadline - time.monotonic()), 0.01))

    def current_terms(self) -> Offer:
        """The terms that the server has now, which may differ from those agreed to."""
        return read_terms(self._transport.task(), self._identity.task)

    def agree(self, terms_sha256: str) -> Terms:
        """Pin the task's current terms in place of the old ones.

        Args:
            terms_sha256: The hash of what the participant was shown, from `current_terms`.

        Raises:
            TermsChanged: The server has other terms than those shown; nothing was pinned.
        """
        with self._lock:
            self._require_presence()
            offer = self.current_terms()
            if offer.sha256 != terms_sha256:
                raise TermsChanged(
                    f"the terms shown were {terms_sha256}, the server now has {offer.sha256}. "
                    "Read them again before agreeing."
                )
            require_successor(offer.terms, self._agreement.terms, self._store.n_samples)
            self._remember(replace(self._identity, terms=offer.text))
            return offer.terms

    def set_limits(self, limits: Limits) -> None:
        """Change the participant's limits."""
        with self._lock:
            self._require_presence()
            self._remember(replace(self._identity, limits=limits))

    def move(self, url: str, fingerprint: str | None = None, insecure_http: bool = False) -> None:
        """Go on at another address of the server, or with another certificate.

        Identity, terms, ledger and samples stay. Nothing changes unless the server there has the
        task on the agreed terms, and knows this device.

        Args:
            url: The server's root.
            fingerprint: SHA-256 of the certificate to trust alone; None for the authorities that
                the system trusts.
            insecure_http: Allow plain HTTP beyond loopback.
        """
        with self._lock:
            self._require_presence()
            self._remember(moved(self._identity, url, fingerprint, insecure_http))

    def leave(self, erase: bool = True) -> None:
        """Tell the server, as well as it can be told, and forget everything here.

        What was told stays in the account, and with `erase=False` the ledger in the file too.
        """
        with self._lock:
            if self._gone:
                return
            self._refresh()
            try:
                # Not to a server that has ended this device itself, or was told before.
                if self._identity.ended in (None, ALL_MADE):
                    self._transport.leave(self._identity.token)
            except CrowdmlError as error:
                self._say(f"left without telling the server: {error}")
            self._identity = replace(self._identity, ended=LEFT, token="", certificate=None)
            # Also before the file is removed: overwritten, and known to who still has it open.
            self._store.keep_ledger(self._identity)
            self._gone = True
            self.close()
            if erase:
                self._store.remove()

    def close(self) -> None:
        """Close the connection and the file. Nothing is lost: `Device` opens it again."""
        self._transport.close()
        self._store.close()

    def __enter__(self) -> "Device":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Routines 2 and 3

    def _attempt(self) -> Outcome:
        """One round: an old letter first, then a new one."""
        outcome = Outcome.COLLECTED
        letter = self._store.pending
        if letter:
            outcome = self._send(letter)
        # Without a letter another process was faster: what it left needs an approval of its own.
        letter = None
        while not letter and self._may_release():
            letter = self._release()
            outcome = self._send(letter) if letter else outcome
        self._waiting.clear()
        if self._fulfilled():
            self._end(ALL_MADE)
        return outcome

    def _may_release(self) -> bool:
        self._refresh()
        full = self._fills_a_batch(self._store.standing)
        return full and not self.ended and not self._fulfilled()

    def _fulfilled(self) -> bool:
        return self._agreement.fulfilled(self._store.ledger)

    def _release(self) -> Letter | None:
        """Check out w and turn the buffer into one sanitised letter."""
        agreement = self._agreement
        # Before the check-out, so that a spent budget costs no traffic.
        approval = agreement.approve(self._store.ledger, self._store.n_samples)
        checked_out = self._transport.checkout(self._identity.token)
        w = agreement.accept(checked_out)
        self._on_step("checked out")

        def write(x: Array, y: Array, ledger: Ledger) -> Letter | None:
            if self._store.identity != self._identity:
                return None  # limits, terms or the end: another process has changed them meanwhile
            version = checked_out.checkout.version
            letter = agreement.write(approval, version, w, x, y, ledger, self._chance)
            self._on_step("sanitised")
            return letter

        with self._waiting.whole_slots():
            letter = self._store.release(approval.n_samples, approval.event, write)
            if letter:
                self._on_step("stored")
        return letter

    def _send(self, letter: Letter) -> Outcome:
        try:
            answer = self._transport.checkin(self._identity.token, letter.body)
        except Rejected as error:
            if error.kind not in KEEP_AFTER:
                self._store.answered(letter, f"refused: {error.kind}")
            raise
        self._on_step("sent")
        self._store.answered(letter, answer.status)
        self._on_step("acknowledged")
        return Outcome.CHECKED_IN

    def _refused(self, error: Rejected) -> Outcome:
        """The server said no: end, ask, wait, or go on with the next minibatch.

        `tests/vectors/behaviour.json` says what every device does after each kind.
        """
        self._say(f"the server refused: {error.detail}")
        if error.kind in GIVE_UP_ON:
            self._end(error.detail)
            return Outcome.ENDED
        if error.kind == "too-many-checkins" or (self._fulfilled() and not self.pending):
            self._end(ALL_MADE)
            return Outcome.ENDED
        if error.kind == "task-finished":
            # Its owner may reopen it: the next run asks again.
            self._over = error.detail
            return Outcome.ENDED
        if error.kind == "terms-changed":
            return self._await_consent()
        why = Outcome.PAUSED if error.kind == "task-paused" else Outcome.WAITING
        return self._waiting.hold(why, _patience(error.extra.get("retry_after")))

    def _await_consent(self) -> Outcome:
        """Try nothing more by itself: the participant agrees, or starts the device again."""
        return self._waiting.hold(Outcome.TERMS, math.inf)

    # State

    def _say(self, sentence: str) -> None:
        """Tell the participant once, not at every sample."""
        if sentence != self._said:
            log.warning(sentence)
            self._said = sentence

    def _remember(self, identity: Identity) -> None:
        self._store.identity = identity
        self._adopt(identity)

    def _refresh(self) -> None:
        """Another process may have changed limits, agreed to other terms, or left."""
        if self._identity.ended == LEFT:
            return
        identity = self._store.identity if self._store.changed() else None
        if identity is not None and identity != self._identity:
            self._adopt(identity)

    def _require_presence(self) -> None:
        self._refresh()
        if self._identity.ended == LEFT:
            raise DeviceError("this device has left its task. Join again.")

    def _adopt(self, identity: Identity) -> None:
        if self._follows and _server(identity) != _server(self._identity):
            self._transport.close()
            self._transport = _connect(identity)
        self._identity = identity
        self._agreement = Agreement(identity)
        self._waiting.clear()

    def _end(self, why: str) -> None:
        self._remember(replace(self._identity, ended=why))

    def _fills_a_batch(self, standing: Standing) -> bool:
        return standing.n_samples >= self._agreement.terms.collection.batch

    def _something_to_do(self, standing: Standing) -> bool:
        return not self.ended and (standing.pending or self._fills_a_batch(standing))


def _server(identity: Identity) -> tuple[str, str, str | None, bool]:
    return identity.url, identity.task, identity.certificate, identity.insecure_http


def _connect(identity: Identity) -> HttpTransport:
    return HttpTransport(*_server(identity))


def _patience(retry_after: object) -> float:
    """The seconds that the server asks to wait, within reason."""
    if isinstance(retry_after, bool) or not isinstance(retry_after, int | float):
        return 0.0
    return float(min(retry_after, LONGEST_WAIT)) if retry_after >= 0 else 0.0
