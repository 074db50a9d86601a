"""Store owners, their sessions, and the log of their actions."""

import time
from typing import NamedTuple

import msgspec
import sqlalchemy as sa

from crowdml.errors import InvalidInput
from crowdml.phrase import Phrase, read_phrase
from crowdml.server.database import schema
from crowdml.server.database.connection import Database
from crowdml.server.database.passwords import hash_password
from crowdml.server.database.tokens import new_token, token_sha256
from crowdml.server.throttle import take_token
from crowdml.tables import check_kind

SESSION_SECONDS = 12 * 3600
COMMAND_LINE = "command line"
"""The name in the log for an action on the command line, where no owner is signed in."""


ATTEMPT_SLOTS = 4096
ATTEMPTS_PER_MINUTE, ATTEMPTS_AT_ONCE = 6.0, 5.0


class OwnerAction(NamedTuple):
    """Record an action of an owner.

    Args:
        at: Seconds since 1970.
        owner: The owner's name, or that it was the command line.
        action: What was done, such as `paused`.
        detail: About what was done. A plain text, such as a name, is the same in every language.
    """

    at: int
    owner: str | Phrase
    action: Phrase
    task: str
    detail: str | Phrase


class Owners:
    """Decide who may manage the tasks of this server: every owner may manage every task.

    Every method is one transaction, in the store's thread.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, password: str) -> None:
        """Add an owner, or give a known owner a new password and end their sessions."""
        check_kind("an owner's name", name, str, "a text")
        check_kind("a password", password, str, "a text")
        if not name.isidentifier() or len(name) > 63:
            raise InvalidInput(
                f"an owner's name must be letters, digits and _ (63 at most), found {name[:80]!r}."
            )
        hashed = hash_password(password)
        with self._database.writing() as connection:
            _end_sessions(connection, name)
            c = schema.owners.c
            change = sa.update(schema.owners).where(c.name == name).values(password=hashed)
            known = connection.execute(change).rowcount
            if not known:
                row = {"name": name, "password": hashed}
                connection.execute(sa.insert(schema.owners), row)
            deed = Phrase("changed password" if known else "added owner")
            log_action(connection, COMMAND_LINE, deed, detail=name)

    def remove(self, name: str) -> None:
        with self._database.writing() as connection:
            _end_sessions(connection, name)
            connection.execute(sa.delete(schema.drafts).where(schema.drafts.c.owner == name))
            gone = sa.delete(schema.owners).where(schema.owners.c.name == name)
            if not connection.execute(gone).rowcount:
                raise InvalidInput(f"there is no owner {name!r}. `crowdml owner list` shows them.")
            log_action(connection, COMMAND_LINE, Phrase("removed owner"), detail=name)

    def names(self) -> list[str]:
        query = sa.select(schema.owners.c.name).order_by(schema.owners.c.name)
        with self._database.reading() as connection:
            return list(connection.execute(query).scalars())

    def password(self, name: str) -> str | None:
        """Return the hash of an owner's password."""
        query = sa.select(schema.owners.c.password).where(schema.owners.c.name == name)
        with self._database.reading() as connection:
            return connection.execute(query).scalar()

    # Signing in

    def count_attempt(self, name: str, visitor: str | None = None) -> None:
        """Count an attempt to sign in, on any node; raise `Rejected` if there are too many.

        A name is any text that is typed, so names share a few thousand buckets. Each visitor has
        its own buckets, so strangers who know an owner's name cannot lock that owner out.
        """
        key = name if visitor is None else f"{visitor} {name}"
        slot = int.from_bytes(token_sha256(key)[:4], "big") % ATTEMPT_SLOTS
        c, now = schema.attempts.c, time.time()
        with self._database.writing() as connection:
            known = sa.select(c.tokens, c.at).where(c.slot == slot).with_for_update()
            row = connection.execute(known).first()
            bucket = (row[0], row[1]) if row else (ATTEMPTS_AT_ONCE, now)
            tokens, at = take_token(bucket, now, ATTEMPTS_PER_MINUTE, ATTEMPTS_AT_ONCE)
            connection.execute(sa.delete(schema.attempts).where(c.slot == slot))
            after = {"slot": slot, "tokens": tokens, "at": at}
            connection.execute(sa.insert(schema.attempts), after)

    # Sessions

    def open_session(self, owner: str) -> str:
        """Open a session; only the hash of its token is stored."""
        token = new_token()
        now = int(time.time())
        row = {
            "token_sha256": token_sha256(token),
            "owner": owner,
            "expires_at": now + SESSION_SECONDS,
        }
        c = schema.sessions.c
        with self._database.writing() as connection:
            connection.execute(sa.delete(schema.sessions).where(c.expires_at < now))
            connection.execute(sa.insert(schema.sessions), row)
            log_action(connection, owner, Phrase("signed in"))
        return token

    def session(self, token: str) -> str | None:
        """Return the owner of a session that has not expired."""
        c = schema.sessions.c
        query = sa.select(c.owner).where(
            c.token_sha256 == token_sha256(token), c.expires_at > int(time.time())
        )
        with self._database.reading() as connection:
            return connection.execute(query).scalar()

    def close_session(self, token: str) -> None:
        gone = sa.delete(schema.sessions).where(
            schema.sessions.c.token_sha256 == token_sha256(token)
        )
        with self._database.writing() as connection:
            connection.execute(gone)

    # The log

    def actions(self, task: str | None = None, most: int = 100) -> list[OwnerAction]:
        """List the actions, newest first."""
        c = schema.actions.c
        query = sa.select(c.at, c.owner, c.action, c.task, c.detail).order_by(c.id.desc())
        if task is not None:
            query = query.where(c.task == task)
        with self._database.reading() as connection:
            return [_read(*row) for row in connection.execute(query.limit(most))]


def _end_sessions(connection: sa.Connection, owner: str) -> None:
    connection.execute(sa.delete(schema.sessions).where(schema.sessions.c.owner == owner))


def log_action(
    connection: sa.Connection, owner: str, action: Phrase, task: str = "", detail: str | Phrase = ""
) -> None:
    """Record an owner's action in the transaction in which it happens.

    An action has no values, so that its template is all of it. A detail that is a phrase is
    stored as JSON, so that it can be read in any language.
    """
    row = {
        "at": int(time.time()),
        "owner": owner,
        "action": action.template,
        "task": task,
        "detail": _stored(detail),
    }
    connection.execute(sa.insert(schema.actions), row)


def _stored(detail: str | Phrase) -> str:
    return detail if isinstance(detail, str) else msgspec.json.encode(detail.document).decode()


def _read(at: int, owner: str, action: str, task: str, detail: str) -> OwnerAction:
    who = Phrase("command line") if owner == COMMAND_LINE else owner
    return OwnerAction(at, who, Phrase(action), task, _read_detail(detail))


def _read_detail(text: str) -> str | Phrase:
    """Read a detail: a phrase in JSON, or a name."""
    phrase = read_phrase(msgspec.json.decode(text)) if text.startswith("{") else None
    return phrase or text
