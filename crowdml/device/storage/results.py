"""Keep what each check-in gives back to the participant: two counts, and its version."""

from crowdml.device.personal_accuracy import RightCount
from crowdml.device.storage.database import PrivateDatabase


class CheckinResults:
    """Store the results of check-ins in the device's file. They are never sent.

    Leaving the task erases them.
    """

    def __init__(self, db: PrivateDatabase) -> None:
        self._db = db

    def keep(self, checkin: str, tally: RightCount) -> None:
        """Keep the counts of a check-in, in the transaction that uses its samples."""
        self._db.execute("INSERT INTO results VALUES (?, ?, ?, NULL)", (checkin, *tally))

    def set_version(self, checkin: str, version: int | None) -> None:
        """Store which check-in of the task it was, by the server's answer."""
        query = "UPDATE results SET version = ? WHERE checkin = ?"
        self._db.execute(query, (version, checkin))

    @property
    def tallies(self) -> list[RightCount]:
        """Return the counts of each check-in, in order."""
        query = "SELECT n_right, n_samples FROM results ORDER BY rowid"
        return [RightCount(*row) for row in self._db.rows(query)]

    @property
    def versions(self) -> list[int]:
        """Return which check-ins of the task were this device's, the first one first."""
        query = "SELECT version FROM results WHERE version > 0 ORDER BY version"
        return [row[0] for row in self._db.rows(query)]
