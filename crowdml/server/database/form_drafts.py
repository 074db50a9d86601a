"""Store the forms that owners have begun: for a while, for the same owner, on every node."""

import time
from collections.abc import Mapping

import msgspec
import sqlalchemy as sa

from crowdml.server.database import schema
from crowdml.server.database.connection import Database

DRAFT_SECONDS = 12 * 3600
"""The lifetime of a draft since it was last saved; as long as a session."""

MOST_DRAFTS = 8
"""The most drafts of one owner. The oldest are dropped."""


class FormDrafts:
    """Store what was typed into forms, by owner and by a random name in the form's address.

    Every method is one transaction, in the store's thread.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, owner: str, name: str, form: Mapping[str, str]) -> None:
        c, now = schema.drafts.c, int(time.time())
        row = {
            "owner": owner,
            "name": name,
            "form": msgspec.json.encode(form).decode(),
            "expires_at": now + DRAFT_SECONDS,
        }
        newest = sa.select(c.name).where(c.owner == owner, c.name != name)
        newest = newest.order_by(c.expires_at.desc()).limit(MOST_DRAFTS - 1)
        with self._database.writing() as connection:
            others = list(connection.execute(newest).scalars())
            old = (c.owner == owner) & c.name.not_in(others)
            connection.execute(sa.delete(schema.drafts).where(old | (c.expires_at < now)))
            connection.execute(sa.insert(schema.drafts), row)

    def read(self, owner: str, name: str) -> dict[str, str] | None:
        """Return what was typed in; None if this owner has no such draft, or it has expired."""
        c = schema.drafts.c
        query = sa.select(c.form).where(c.owner == owner, c.name == name)
        with self._database.reading() as connection:
            form = connection.execute(query.where(c.expires_at > int(time.time()))).scalar()
        return None if form is None else msgspec.json.decode(form, type=dict[str, str])

    def drop(self, owner: str, name: str | None = None) -> None:
        """Forget a draft, or all drafts of an owner."""
        c = schema.drafts.c
        gone = sa.delete(schema.drafts).where(c.owner == owner)
        with self._database.writing() as connection:
            connection.execute(gone if name is None else gone.where(c.name == name))
