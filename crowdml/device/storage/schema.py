"""Define the tables of a device's file."""

SCHEMA = (
    """CREATE TABLE identity (
    one INTEGER PRIMARY KEY CHECK (one = 1), document BLOB NOT NULL
) STRICT""",
    """CREATE TABLE buffer (
    id INTEGER PRIMARY KEY, x BLOB NOT NULL, y REAL NOT NULL, followed INTEGER NOT NULL
) STRICT""",
    "CREATE TABLE outbox (id TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT",
    """CREATE TABLE ledger (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    checkin TEXT NOT NULL UNIQUE,
    event BLOB NOT NULL,
    followed INTEGER NOT NULL DEFAULT 0
) STRICT""",
    "CREATE TABLE answers (checkin TEXT PRIMARY KEY, answer TEXT NOT NULL) STRICT",
    """CREATE TABLE sources (
    path TEXT PRIMARY KEY, lines INTEGER NOT NULL, sha256 TEXT NOT NULL
) STRICT""",
    "CREATE TABLE results (checkin TEXT PRIMARY KEY, n_right INTEGER NOT NULL, "
    "n_samples INTEGER NOT NULL, version INTEGER) STRICT",
    "CREATE TABLE streams (path TEXT PRIMARY KEY, document BLOB NOT NULL) STRICT",
    """CREATE TABLE current_label (
    one INTEGER PRIMARY KEY CHECK (one = 1), label TEXT, at INTEGER NOT NULL
) STRICT""",
    "CREATE TABLE first_rows (format TEXT NOT NULL, row BLOB) STRICT",
    """CREATE TRIGGER ledger_is_append_only_1 BEFORE UPDATE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END""",
    """CREATE TRIGGER ledger_is_append_only_2 BEFORE DELETE ON ledger
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END""",
)
