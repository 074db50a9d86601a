"""Keep a device's record outside its file: which check-in was sent under which number.

The file can be copied, or restored from a backup; then it forgets what was sent and would draw anew
for the same number. The record is in the participant's account. A check-in is first in the file,
then in the record, and only then sent. So the file never knows less than the record, unless it is a
copy; and a crash between the two leaves a check-in that is sent later, with the same bytes.
"""

from crowdml.device.identity import Identity
from crowdml.device.storage.account import Account, AccountEntry
from crowdml.device.storage.database import PrivateDatabase
from crowdml.errors import DeviceError
from crowdml.protocol import read_event

COPY = "sent by another copy of this device"
"""The answer to a check-in that this file did not send."""


class Record:
    """Compare the ledger of a device's file with the device's record in the account."""

    def __init__(self, db: PrivateDatabase, account: Account) -> None:
        self._db = db
        self._account = account

    def claim(self, me: Identity, checkin: str) -> bool:
        """Record a check-in of the ledger, and all before it; False if its number is taken."""
        query = (
            "SELECT seq, checkin, followed, event FROM ledger WHERE seq > ? OR checkin = ? "
            "ORDER BY seq"
        )
        rows = self._db.rows(query, (self._newest(me) + me.earlier, checkin))
        return all(self._claim(me, seq - me.earlier, *row) for seq, *row in rows)

    def _claim(self, me: Identity, number: int, checkin: str, followed: int, event: bytes) -> bool:
        entry = AccountEntry(me.url, me.task, bool(followed), read_event(event))
        return self._account.claim_number(me.record, number, checkin, entry)

    def is_ahead(self, me: Identity) -> bool:
        """Return whether the record has more check-ins than the ledger.

        The record is read first: another process may send a check-in between the two readings.
        """
        newest = self._newest(me)
        return newest > self._n_charged(me)

    def charge_unknown(self, me: Identity) -> None:
        """Copy check-ins that only the record has into the ledger, within a transaction."""
        for checkin, followed, event in self._account.recorded_after(
            me.record, self._n_charged(me)
        ):
            self.charge(checkin, followed, event)
            self._db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (checkin, COPY))

    def claim_copy(self, me: Identity, checkin: str) -> None:
        """Record that a copy of the file has sent a check-in with this number and cost."""
        query = "SELECT followed, event FROM ledger WHERE checkin = ?"
        followed, event = self._db.execute(query, (checkin,)).fetchone()
        self._claim(me, self._n_charged(me) + 1, f"{checkin}-copy", followed, event)

    def charge(self, checkin: str, followed: bool, event: bytes) -> None:
        """Add a check-in to the ledger."""
        query = "INSERT INTO ledger (checkin, followed, event) VALUES (?, ?, ?)"
        self._db.execute(query, (checkin, followed, event))

    def _n_charged(self, me: Identity) -> int:
        return int(self._db.execute("SELECT count(*) FROM ledger").fetchone()[0]) - me.earlier

    def _newest(self, me: Identity) -> int:
        newest = self._account.newest(me.record)
        if newest is None:
            raise DeviceError(
                f"{self._account.file} must have the record of what {self._db.file} has sent, and "
                "has none. Nothing is sent. If you have moved the device, move that file from its "
                "old folder, too, and use the old copy no more. Otherwise leave and join again: "
                "what you send then adds to what you have lost."
            )
        return newest
