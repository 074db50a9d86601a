"""Keep a device's identity, agreement and connection in step with its file."""

from dataclasses import replace

from crowdml.device.agreement import Agreement, require_successor
from crowdml.device.enrolment import TermsOffer, read_terms
from crowdml.device.identity import Identity
from crowdml.device.network import HttpTransport, Transport
from crowdml.device.notices import Notices
from crowdml.device.retry_timer import RetryTimer
from crowdml.device.storage import DeviceStore
from crowdml.errors import CrowdmlError, DeviceError, Rejected, TermsChanged, Unreachable
from crowdml.protocol import Terms
from crowdml.tables import check_kind

FINAL_REJECTIONS = {"revoked", "unauthorized"}
"""Rejections after which this device can never check in again."""

LEFT = "left"
ALL_MADE = "all check-ins that you agreed to are made. Thank you."
COPIED = (
    "another copy of this device has sent check-ins that this copy did not know. They are in the "
    "ledger now, and this copy sends nothing more. To go on, leave and join again: what you send "
    "then adds to what you have lost."
)


class Membership:
    """Track the device's identity, its agreement, and whether it has ended.

    Args:
        store: The device's file, which other processes may change.
        transport: The way to the server; by default HTTPS to where the device joined.
        retry_timer: Cleared when the agreement changes.
    """

    def __init__(
        self, store: DeviceStore, transport: Transport | None, retry_timer: RetryTimer
    ) -> None:
        check_kind("store", store, DeviceStore, "a DeviceStore")
        identity = store.joined
        self._store = store
        self._retry_timer = retry_timer
        self._owns_transport = transport is None
        self._has_left = False
        self.task_end: str | None = None
        self.identity = identity
        self.agreement = Agreement(identity)
        self.transport = transport or _connect(identity)
        if self.ended is None and self.fulfilled and store.pending_checkin is None:
            self.end(ALL_MADE)  # a process that was killed could not record the end

    @property
    def ended(self) -> str | None:
        """Return why the device has stopped, by itself or with the task; None while it runs."""
        return self.identity.ended or self.task_end

    @property
    def fulfilled(self) -> bool:
        """Return whether all check-ins that were agreed to are made."""
        return self.agreement.fulfilled(self._store.ledger)

    def refresh(self) -> None:
        """Read again what another process may have changed: limits, terms, or the end."""
        if self.identity.ended == LEFT:
            return
        identity = self._store.identity if self._store.changed() else None
        if identity is not None and identity != self.identity:
            self._adopt(identity)

    def require_membership(self) -> None:
        """Raise `DeviceError` if the device has left its task."""
        self.refresh()
        if self.identity.ended == LEFT:
            raise DeviceError("this device has left its task. Join again.")

    def store_identity(self, identity: Identity) -> None:
        """Store a changed identity, and use it from now on."""
        self._store.identity = identity
        self._adopt(identity)

    def end(self, why: str) -> None:
        """End the device for good, for this reason."""
        self.store_identity(replace(self.identity, ended=why))

    def ask_exclusion(self) -> str | None:
        """Ask the server whether it has excluded this device; return the reason if it has."""
        if self.ended is None:
            try:
                self.transport.checkout(self.identity.token)
            except (Rejected, Unreachable) as error:
                if isinstance(error, Rejected) and error.kind in FINAL_REJECTIONS:
                    self.end(error.detail)
        return None if self.identity.ended in (None, ALL_MADE, COPIED, LEFT) else self.ended

    def current_terms(self) -> TermsOffer:
        """Fetch the terms that the server has now, which may differ from those agreed to."""
        return read_terms(self.transport.task(), self.identity.task)

    def agree(self, terms_sha256: str) -> Terms:
        """Pin the task's current terms, if they are those that were shown."""
        self.require_membership()
        offer = self.current_terms()
        if offer.sha256 != terms_sha256:
            raise TermsChanged(
                f"the terms shown were {terms_sha256}, the server now has {offer.sha256}. "
                "Read them again before agreeing."
            )
        require_successor(offer.terms, self.agreement.terms, self._store.n_samples)
        self.store_identity(replace(self.identity, terms=offer.text))
        return offer.terms

    def leave(self, erase: bool, notices: Notices) -> None:
        """Report leaving to the server, if it can be reached, and forget everything here."""
        if self._has_left:
            return
        self.refresh()
        try:
            # Do not report to a server that ended this device itself, or already knows that it
            # left.
            if self.identity.ended in (None, ALL_MADE, COPIED):
                self.transport.leave(self.identity.token)
        except CrowdmlError as error:
            notices.log_once(f"left without telling the server: {error}")
        self.identity = replace(self.identity, ended=LEFT, token="", certificate=None)
        # Also if the file is removed next: this overwrites its content, and other processes notice.
        self._store.keep_ledger(self.identity)
        self._has_left = True
        self.close()
        if erase:
            self._store.remove()

    def close(self) -> None:
        """Close the connection and the file."""
        self.transport.close()
        self._store.close()

    def _adopt(self, identity: Identity) -> None:
        if self._owns_transport and _server(identity) != _server(self.identity):
            self.transport.close()
            self.transport = _connect(identity)
        self.identity = identity
        self.agreement = Agreement(identity)
        self._retry_timer.clear()


def _server(identity: Identity) -> tuple[str, str, str | None, bool]:
    return identity.url, identity.task, identity.certificate, identity.insecure_http


def _connect(identity: Identity) -> HttpTransport:
    return HttpTransport(*_server(identity))
