"""Exchange check-ins with the server: Device Routines 2 and 3, and the handling of rejections."""

import math
from collections.abc import Callable

from crowdml.device.membership import ALL_MADE, COPIED, FINAL_REJECTIONS, Membership
from crowdml.device.notices import Notices
from crowdml.device.outcome import Outcome
from crowdml.device.retry_timer import RetryTimer
from crowdml.device.storage import DeviceStore, StoreSummary, WrittenCheckin
from crowdml.errors import LimitReached, Rejected, TermsChanged, Unreachable
from crowdml.privacy import Chance, Ledger
from crowdml.types import Array

RETRIABLE_REJECTIONS = {
    "fault", "method-not-allowed", "not-found", "task-paused", "too-frequent", "unavailable",
    "unknown",
}  # fmt: skip
"""Rejections after which the same bytes may still be accepted later."""

LONGEST_WAIT = 3600.0

REJECTED = "rejected: "
"""Start the stored answer to a rejected check-in."""


class CopyFound(Exception):
    """Report that another copy of the device's file has sent check-ins; they are in the ledger."""


class Exchange:
    """Send the check-in that waits, and turn a full buffer into the next check-in.

    Args:
        on_step: Called with the name of each step of a check-in.
    """

    def __init__(
        self,
        store: DeviceStore,
        membership: Membership,
        chance: Chance,
        retry_timer: RetryTimer,
        notices: Notices,
        on_step: Callable[[str], None],
    ) -> None:
        self._store = store
        self._membership = membership
        self._chance = chance
        self._retry_timer = retry_timer
        self._log_once = notices.log_once
        self._on_step = on_step

    def has_work(self, summary: StoreSummary) -> bool:
        """Return whether a check-in waits to be sent, or a minibatch is full."""
        return not self._membership.ended and (summary.pending or self._fills_a_batch(summary))

    def sync(self, summary: StoreSummary) -> Outcome:
        """Send the check-in that waits, then check in a full minibatch, if the time has come."""
        if self._membership.ended:
            return Outcome.ENDED
        if not self.has_work(summary):
            return Outcome.COLLECTED
        if self._fills_a_batch(summary):
            self._retry_timer.batch_filled()
        if not self._retry_timer.is_due:
            return self._retry_timer.reason
        try:
            return self._attempt()
        except Unreachable as error:
            self._log_once(f"{error} Samples are kept; will try again.")
            return self._retry_timer.wait_after_failure(
                Outcome.WAITING, _requested_wait(error.retry_after)
            )
        except LimitReached as error:
            self._log_once(str(error))
            return Outcome.LIMIT
        except CopyFound:
            self._log_once(COPIED)
            self._membership.end(COPIED)
            return Outcome.ENDED
        except TermsChanged as error:
            self._log_once(str(error))
            return self._await_consent()
        except Rejected as error:
            return self._handle_rejection(error)

    def _attempt(self) -> Outcome:
        """Make one round: send an old check-in first, then a new one."""
        outcome = Outcome.COLLECTED
        checkin = self._store.pending_checkin
        if checkin:
            outcome = self._send(checkin)
        # Without a check-in, another process has used the samples: the rest needs a new approval.
        checkin = None
        while not checkin and self._may_release():
            checkin = self._release()
            outcome = self._send(checkin) if checkin else outcome
        self._retry_timer.clear()
        if self._membership.fulfilled:
            self._membership.end(ALL_MADE)
        return outcome

    def _may_release(self) -> bool:
        self._membership.refresh()
        full = self._fills_a_batch(self._store.summary)
        return full and not self._membership.ended and not self._membership.fulfilled

    def _fills_a_batch(self, summary: StoreSummary) -> bool:
        return summary.n_samples >= self._membership.agreement.terms.collection.batch

    def _release(self) -> WrittenCheckin | None:
        """Check out w and turn the buffer into one sanitised check-in."""
        membership, agreement = self._membership, self._membership.agreement
        if self._store.end_if_overtaken(COPIED):
            raise CopyFound
        n_samples = self._store.n_samples
        if n_samples < agreement.terms.collection.batch:
            return None  # another process has used the samples in the meantime
        # Approve before the check-out, so that a spent budget causes no traffic.
        approval = agreement.approve(self._store.ledger, n_samples)
        token, role = membership.identity.token, agreement.role(approval.key)
        checked_out = membership.transport.checkout(token, role)
        parameters = agreement.accept(checked_out)
        self._on_step("checked out")

        def write(x: Array, y: Array, ledger: Ledger) -> WrittenCheckin | None:
            if self._store.identity != membership.identity:
                return None  # another process has changed limits or terms, or has ended the device
            version = checked_out.checkout.version
            checkin = agreement.write(approval, version, parameters, x, y, ledger, self._chance)
            if checkin:
                self._store.results.keep(checkin.id, agreement.count_right(parameters, x, y))
            self._on_step("sanitised")
            return checkin

        with self._retry_timer.whole_slots(agreement.terms.slots):
            checkin = self._store.release(approval.n_samples, approval.event, write)
            if checkin:
                self._on_step("stored")
        return checkin

    def _send(self, checkin: WrittenCheckin) -> Outcome:
        membership = self._membership
        if not self._store.claim(checkin):
            self._store.store_answer(checkin, "not sent: another copy has sent this number")
            self._store.end_if_overtaken(COPIED)
            raise CopyFound
        self._on_step("booked")
        try:
            answer = membership.transport.checkin(membership.identity.token, checkin.body)
        except Rejected as error:
            if error.kind == "repeated-number":
                self._store.charge_copy(checkin, REJECTED + error.kind, COPIED)
                raise CopyFound from error
            if error.kind not in RETRIABLE_REJECTIONS:
                self._store.store_answer(checkin, REJECTED + error.kind)
            raise
        self._on_step("sent")
        self._store.store_answer(checkin, answer.status, answer.version)
        self._on_step("acknowledged")
        return Outcome.CHECKED_IN

    def _handle_rejection(self, error: Rejected) -> Outcome:
        """Handle a rejection: end, ask for consent, wait, or continue with the next minibatch.

        `tests/vectors/behaviour.json` says what every device does after each kind.
        """
        membership = self._membership
        self._log_once(f"the server rejected the request: {error.detail}")
        if error.kind in FINAL_REJECTIONS:
            membership.end(error.detail)
            return Outcome.ENDED
        all_made = membership.fulfilled and self._store.pending_checkin is None
        if error.kind == "too-many-checkins" or all_made:
            membership.end(ALL_MADE)
            return Outcome.ENDED
        if error.kind == "task-finished":
            # The owner may reopen the task: the next run asks the server again.
            membership.task_end = error.detail
            return Outcome.ENDED
        if error.kind == "terms-changed":
            return self._await_consent()
        why = Outcome.PAUSED if error.kind == "task-paused" else Outcome.WAITING
        return self._retry_timer.wait_after_failure(
            why, _requested_wait(error.extra.get("retry_after"))
        )

    def _await_consent(self) -> Outcome:
        """Stop making attempts until the participant agrees, or starts the device again."""
        return self._retry_timer.wait_after_failure(Outcome.TERMS, math.inf)


def _requested_wait(retry_after: object) -> float:
    """Return the seconds that the server asks to wait, up to `LONGEST_WAIT`."""
    if isinstance(retry_after, bool) or not isinstance(retry_after, int | float):
        return 0.0
    return float(min(retry_after, LONGEST_WAIT)) if retry_after >= 0 else 0.0
