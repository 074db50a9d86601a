"""Store invites: codes with which a number of devices may join. Only their hashes are kept."""

import secrets

import sqlalchemy as sa

from crowdml.errors import InvalidInput, Rejected
from crowdml.phrase import Phrase
from crowdml.protocol import rejected
from crowdml.server.database import schema
from crowdml.server.database.connection import Database
from crowdml.server.database.owners import COMMAND_LINE, log_action
from crowdml.server.database.tokens import token_sha256


class Invites:
    """Store invites. Every method is one transaction, in the store's thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, task: int, uses: int, by: str = COMMAND_LINE, code: str | None = None) -> str:
        """Make an invite and return its code; do nothing for a code that exists already."""
        if uses < 1:
            raise InvalidInput(f"an invite must be usable at least once, found {uses}.")
        code = code or secrets.token_urlsafe(9)
        row = {"code_sha256": token_sha256(code), "task": task, "uses_left": uses}
        name = sa.select(schema.tasks.c.name).where(schema.tasks.c.id == task)
        with self._database.writing() as connection:
            if self.uses(task, code) is None:
                connection.execute(sa.insert(schema.invites), row)
                task_name = connection.execute(name).scalar_one()
                invite = Phrase("an invite for {n}", n=uses)
                log_action(connection, by, Phrase("invited"), task_name, invite)
        return code

    def count(self, task: int) -> int:
        """Count the devices that may still join with the invites that were made."""
        c = schema.invites.c
        query = sa.select(sa.func.sum(c.uses_left)).where(c.task == task)
        with self._database.reading() as connection:
            return int(connection.execute(query).scalar() or 0)

    def uses(self, task: int, code: str | None) -> int | None:
        """Count the devices that may still join with this invite; None for an unknown invite."""
        query = sa.select(schema.invites.c.uses_left).where(_is(task, code))
        with self._database.reading() as connection:
            return connection.execute(query).scalar()


def use_invite(connection: sa.Connection, task: int, code: str | None) -> None:
    left = schema.invites.c.uses_left
    spend = sa.update(schema.invites).where(_is(task, code) & (left > 0))
    if not connection.execute(spend.values(uses_left=left - 1)).rowcount:
        raise invite_required(code)


def invite_required(invite: str | None) -> Rejected:
    """Make the rejection for a device that joins with an unknown invite, or with none."""
    found = Phrase("none" if invite is None else "one that is unknown or used up")
    words = Phrase("this task needs a valid invite, found {found}. Ask its owner.", found=found)
    return rejected("invite-required", words)


def _is(task: int, code: str | None) -> "sa.ColumnElement[bool]":
    c = schema.invites.c
    return (c.task == task) & (c.code_sha256 == token_sha256(code or ""))
