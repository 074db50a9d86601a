"""Define the tables. The model is not among them: it is a fold over `checkins`."""

import sqlalchemy as sa

metadata = sa.MetaData()


def _of_a_task() -> sa.ForeignKeyConstraint:
    """Reference a task by a foreign key in SQLite only.

    With a foreign key, PostgreSQL would look up the task for every row, although the writer has
    already locked it.
    """
    return sa.ForeignKeyConstraint(["task"], ["tasks.id"]).ddl_if(dialect="sqlite")


tasks = sa.Table(
    "tasks",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(63), nullable=False, unique=True),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("terms", sa.Text, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("reopened", sa.Text, nullable=False, server_default=""),
    sa.Column("edited", sa.Integer, nullable=False, server_default="0"),
    sa.Column("removed", sa.Integer, nullable=False, server_default="0"),
)
"""`document` is the whole task as JSON; `state` is the owner's settings: running, paused, stopped.
`reopened` has the numbers of the check-ins after which the owner reopened it, with blanks between
them: every node forgets at these places of the log that the task had ended. `edited` counts
changes of the document, so that every node knows when to read it again. `removed` counts devices
that left or were revoked, so that every node asks again who takes part. Of a task that was deleted
an empty row stays, so that its number is never another's."""

devices = sa.Table(
    "devices",
    metadata,
    sa.Column("task", sa.ForeignKey("tasks.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(32), nullable=False, unique=True),
    sa.Column("token_sha256", sa.LargeBinary(32), nullable=False, unique=True),
    sa.Column("status", sa.String(16), nullable=False),
)
"""Numbers 0, 1, … within a task. No address, no time, nothing about the person."""

joins = sa.Table(
    "joins",
    metadata,
    sa.Column("task", sa.ForeignKey("tasks.id"), primary_key=True),
    sa.Column("device", sa.Integer, primary_key=True),
    sa.Column("network", sa.BigInteger, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
)
"""Joins of the last day. `network` is a keyed hash, by which joins from one network can be counted;
neither the address nor the hash is kept longer."""

network_keys = sa.Table(
    "network_keys",
    metadata,
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.LargeBinary(32), nullable=False),
)
"""The key of each day's hashes, by days since 1970. With a key, anyone could try
out all addresses, so it is deleted with the hashes."""

invites = sa.Table(
    "invites",
    metadata,
    sa.Column("code_sha256", sa.LargeBinary(32), primary_key=True),
    sa.Column("task", sa.ForeignKey("tasks.id"), nullable=False),
    sa.Column("uses_left", sa.Integer, nullable=False),
)

checkins = sa.Table(
    "checkins",
    metadata,
    sa.Column("task", sa.Integer, primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("device", sa.Integer, nullable=False),
    sa.Column("id", sa.String(64), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("number", sa.Integer),
    sa.Column("samples", sa.Integer),
    sa.UniqueConstraint("task", "device", "id"),
    _of_a_task(),
)
"""The log, in the order of application. Times are kept to the minute only. Not all mechanisms
number check-ins or send the number of samples."""

payloads = sa.Table(
    "payloads",
    metadata,
    sa.Column("task", sa.Integer, primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    _of_a_task(),
)
"""The payloads of check-ins. Apart from the log, so that dropping them frees the disk."""

sa.Index(
    "checkins_by_number",
    checkins.c.task,
    checkins.c.device,
    checkins.c.number,
    unique=True,
    sqlite_where=checkins.c.number.is_not(None),
    postgresql_where=checkins.c.number.is_not(None),
)

snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("task", sa.ForeignKey("tasks.id"), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("fold", sa.LargeBinary, nullable=False),
)
"""The fold after `seq` check-ins, as an npz archive; a shortcut, never the truth."""

owners = sa.Table(
    "owners",
    metadata,
    sa.Column("name", sa.String(63), primary_key=True),
    sa.Column("password", sa.Text, nullable=False),
)
"""People who steer tasks through the portal; of a password only its argon2 hash is kept."""

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("token_sha256", sa.LargeBinary(32), primary_key=True),
    sa.Column("owner", sa.ForeignKey("owners.name"), nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
)

drafts = sa.Table(
    "drafts",
    metadata,
    sa.Column("owner", sa.ForeignKey("owners.name"), primary_key=True),
    sa.Column("name", sa.String(32), primary_key=True),
    sa.Column("form", sa.Text, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
)
"""Forms that owners have begun, as JSON."""

attempts = sa.Table(
    "attempts",
    metadata,
    sa.Column("slot", sa.Integer, primary_key=True),
    sa.Column("tokens", sa.Double, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)
"""How often signing in was tried, by a hash of the name; seconds since 1970."""

actions = sa.Table(
    "actions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("owner", sa.String(63), nullable=False),
    sa.Column("action", sa.String(32), nullable=False),
    sa.Column("task", sa.String(63), nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)
"""The actions of owners, never deleted: written in the same transaction as the action itself."""

nodes = sa.Table(
    "nodes",
    metadata,
    sa.Column("name", sa.String(63), primary_key=True),
    sa.Column("started", sa.BigInteger, nullable=False),
    sa.Column("seen", sa.BigInteger, nullable=False),
    sa.Column("metrics", sa.Text, nullable=False),
)
"""Who shares this database now, and what each of them counts, as JSON."""
