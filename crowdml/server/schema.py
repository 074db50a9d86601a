"""The tables. What is learnt is not among them: it is a fold over `checkins`."""

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = [
    "actions",
    "attempts",
    "checkins",
    "devices",
    "invites",
    "metadata",
    "nodes",
    "owners",
    "sessions",
    "snapshots",
    "tasks",
    "told",
]

metadata = MetaData()

tasks = Table(
    "tasks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(63), nullable=False, unique=True),
    Column("document", Text, nullable=False),
    Column("terms", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("reopened", Text, nullable=False, server_default=""),
    Column("edited", Integer, nullable=False, server_default="0"),
)
"""`document` is the whole task as JSON; `state` is the owner's wish: running, paused, stopped.
`reopened` has the numbers of the check-ins after which the owner reopened it, with blanks between
them: every node forgets at these places of the log that the target was reached. `edited` counts
changes of the document, so that every node knows when to read it again. Of a task that was deleted
an empty row stays, so that its number is never another's."""

devices = Table(
    "devices",
    metadata,
    Column("task", ForeignKey("tasks.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("name", String(32), nullable=False, unique=True),
    Column("token_sha256", LargeBinary(32), nullable=False, unique=True),
    Column("status", String(16), nullable=False),
)
"""Numbers 0, 1, … within a task. No address, no time, nothing about the person."""

invites = Table(
    "invites",
    metadata,
    Column("code_sha256", LargeBinary(32), primary_key=True),
    Column("task", ForeignKey("tasks.id"), nullable=False),
    Column("uses_left", Integer, nullable=False),
)

checkins = Table(
    "checkins",
    metadata,
    Column("task", ForeignKey("tasks.id"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("device", Integer, nullable=False),
    Column("id", String(64), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("version", Integer, nullable=False),
    Column("number", Integer),
    Column("samples", Integer),
    UniqueConstraint("task", "device", "id"),
)
"""The log, in the order of application. Times are kept to the minute only. Not all mechanisms
number check-ins or tell samples. PostgreSQL does not look for the task of each: whoever appends
has locked it."""

told = Table(
    "told",
    metadata,
    Column("task", ForeignKey("tasks.id"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("told", LargeBinary, nullable=False),
)
"""What check-ins told. Apart from the log, so that the disk gets it back when it is dropped."""

Index(
    "checkins_by_number",
    checkins.c.task,
    checkins.c.device,
    checkins.c.number,
    unique=True,
    sqlite_where=checkins.c.number.is_not(None),
    postgresql_where=checkins.c.number.is_not(None),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("task", ForeignKey("tasks.id"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("fold", LargeBinary, nullable=False),
)
"""The fold after `seq` check-ins, as an npz archive; a shortcut, never the truth."""

owners = Table(
    "owners",
    metadata,
    Column("name", String(63), primary_key=True),
    Column("password", Text, nullable=False),
)
"""People who steer tasks through the portal; of a password only its argon2 hash is kept."""

sessions = Table(
    "sessions",
    metadata,
    Column("token_sha256", LargeBinary(32), primary_key=True),
    Column("owner", ForeignKey("owners.name"), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

attempts = Table(
    "attempts",
    metadata,
    Column("slot", Integer, primary_key=True),
    Column("tokens", Double, nullable=False),
    Column("at", Double, nullable=False),
)
"""How often signing in was tried, by a hash of the name; seconds since 1970."""

actions = Table(
    "actions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("owner", String(63), nullable=False),
    Column("action", String(32), nullable=False),
    Column("task", String(63), nullable=False),
    Column("detail", Text, nullable=False),
)
"""What owners did, for ever: written in the same transaction as the deed itself."""

nodes = Table(
    "nodes",
    metadata,
    Column("name", String(63), primary_key=True),
    Column("started", BigInteger, nullable=False),
    Column("seen", BigInteger, nullable=False),
    Column("metrics", Text, nullable=False),
)
"""Who shares this database now, and what each of them counts, as JSON."""
