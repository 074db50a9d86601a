"""Define the tables of a device's file, and how to upgrade files of earlier versions."""

__all__ = ["SCHEMAS"]

SCHEMAS = (
    """
CREATE TABLE identity (
    one INTEGER PRIMARY KEY CHECK (one = 1), document BLOB NOT NULL
) STRICT;
CREATE TABLE buffer (id INTEGER PRIMARY KEY, x BLOB NOT NULL, y REAL NOT NULL) STRICT;
CREATE TABLE outbox (id TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE ledger (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    checkin TEXT NOT NULL UNIQUE,
    event BLOB NOT NULL
) STRICT;
CREATE TABLE answers (checkin TEXT PRIMARY KEY, answer TEXT NOT NULL) STRICT;
CREATE TRIGGER ledger_is_append_only_1 BEFORE UPDATE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_append_only_2 BEFORE DELETE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
PRAGMA user_version = 1;
""",
    """
CREATE TABLE sources (
    path TEXT PRIMARY KEY, lines INTEGER NOT NULL, sha256 TEXT NOT NULL
) STRICT;
PRAGMA user_version = 2;
""",
    """
ALTER TABLE buffer ADD COLUMN followed INTEGER NOT NULL DEFAULT 0;
PRAGMA user_version = 3;
""",
    """
DROP TRIGGER ledger_is_append_only_1;
UPDATE ledger SET event = tagged(event);
CREATE TRIGGER ledger_is_append_only_1 BEFORE UPDATE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
PRAGMA user_version = 4;
""",
)
"""What makes a file of each version from one of the version before."""
