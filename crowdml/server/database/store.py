"""Store tasks, devices, invites, and the log of each task, with SQLAlchemy Core and no ORM."""

import secrets
import time
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from crowdml.errors import InvalidInput, InvalidTask, Mistake
from crowdml.phrase import Phrase, join_phrases
from crowdml.protocol import EDITABLE, Task, edited_task, name_is_taken
from crowdml.server.database import schema
from crowdml.server.database.form_drafts import FormDrafts
from crowdml.server.database.invites import Invites, use_invite
from crowdml.server.database.joins import Joins
from crowdml.server.database.log import Log
from crowdml.server.database.nodes import Nodes
from crowdml.server.database.opening import open_database
from crowdml.server.database.owner_settings import DELETED, OwnerSettings
from crowdml.server.database.owners import COMMAND_LINE, Owners, log_action
from crowdml.server.database.tokens import new_token, token_sha256
from crowdml.tables import check_kind

STATE_ACTIONS = {
    "running": Phrase("resumed"),
    "paused": Phrase("paused"),
    "stopped": Phrase("stopped"),
}
"""What an owner does to bring a task into each state that is theirs to choose."""


class TaskRow(NamedTuple):
    """Hold a task as it is stored; `terms` is their text, of which devices know the hash."""

    id: int
    task: Task
    terms: str
    owner_settings: OwnerSettings


class DeviceRow(NamedTuple):
    """Hold a device; `status` is active, left or revoked."""

    task: int
    number: int
    name: str
    status: str


class Store:
    """Use one connection from one thread at a time.

    Every method is one transaction: when it returns, what it wrote is on disk.
    """

    def __init__(self, url: str, create: bool = True) -> None:
        self._database = open_database(url, create)
        self.owners = Owners(self._database)
        self.drafts = FormDrafts(self._database)
        self.nodes = Nodes(self._database)
        self.invites = Invites(self._database)
        self.joins = Joins(self._database)
        self.wait_for_changes = self._database.wait_for_changes
        self.changes = self._database.changes
        self.changes()

    def close(self) -> None:
        self._database.close()

    # Tasks

    def create_task(self, task: Task, by: str = COMMAND_LINE) -> TaskRow:
        check_kind("task", task, Task, "a Task, such as Task.from_toml makes")
        row = {
            "name": task.name,
            "document": msgspec.json.encode(task).decode(),
            "terms": task.terms.text,
            "state": "running",
            "created_at": int(time.time()),
        }
        with self._database.writing() as connection:
            try:
                connection.execute(sa.insert(schema.tasks), row)
            except sa.exc.IntegrityError as error:
                raise InvalidTask(name_is_taken(task.name)) from error
            log_action(connection, by, Phrase("created"), task.name)
            self._database.notify()
        return self.task(task.name)

    def tasks(self, after: int = 0) -> list[TaskRow]:
        """List the tasks in the order of creation, after this id."""
        return self._tasks(schema.tasks.c.id > after)

    def task(self, name: str) -> TaskRow:
        for row in self._tasks(schema.tasks.c.name == name):
            return row
        raise InvalidInput(f"there is no task {name!r}. `crowdml task list` shows them.")

    def owner_settings(self) -> dict[int, OwnerSettings]:
        """Return the owner's settings of every task, by its number."""
        c = schema.tasks.c
        query = sa.select(c.id, c.state, c.reopened, c.edited, c.removed).where(c.state != DELETED)
        with self._database.reading() as connection:
            return {
                task: OwnerSettings(*owner_settings)
                for task, *owner_settings in connection.execute(query)
            }

    def _tasks(self, which: "sa.ColumnElement[bool]") -> list[TaskRow]:
        c = schema.tasks.c
        query = sa.select(c.id, c.document, c.terms, c.state, c.reopened, c.edited, c.removed)
        query = query.where(which, c.state != DELETED)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(c.id)).all()
        return [
            TaskRow(task_id, Task.from_json(document), terms, OwnerSettings(*owner_settings))
            for task_id, document, terms, *owner_settings in rows
        ]

    def set_task_state(self, name: str, state: str, by: str = COMMAND_LINE) -> None:
        """Pause, resume or stop a task; a stopped task stays stopped."""
        if state not in STATE_ACTIONS:
            words = Phrase(
                "state must be one of {states}, found {state}.",
                states=", ".join(STATE_ACTIONS),
                state=f"{state!r}",
            )
            raise InvalidInput(words)
        self.task(name)
        c = schema.tasks.c
        change = sa.update(schema.tasks).where(c.name == name, c.state != "stopped")
        with self._database.writing() as connection:
            if not connection.execute(change.values(state=state)).rowcount:
                shown = f"{name!r}"
                words = Phrase("the task {name} is stopped for good. Create a new one.", name=shown)
                raise InvalidInput(words)
            log_action(connection, by, STATE_ACTIONS[state], name)
            self._database.notify()

    def edit_task(self, name: str, changes: Mapping[str, Any], by: str = COMMAND_LINE) -> Task:
        """Change fields of a task that are not part of its terms: see `edited_task`.

        The model depends on when the task is expected to end, from the first step on: that can
        change only before there is one.
        """
        task, c = self.task(name).id, schema.tasks.c
        with self._database.writing() as connection:
            self._database.lock(task)
            before = self.log(task).task()
            after = edited_task(before, changes)
            pairs = {path: [*map(attrgetter(path), (before, after))] for path in EDITABLE}
            changed = {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}
            late = [path for path in changed if path.startswith("stop.")]
            if late and len(self.log(task)):
                must = Phrase("can be changed only before the first check-in")
                raise InvalidTask(*(Mistake(path, must, str(changed[path][1])) for path in late))
            if changed:
                values = {"document": msgspec.json.encode(after).decode(), "edited": c.edited + 1}
                connection.execute(sa.update(schema.tasks).where(c.id == task).values(values))
                edits = [_edit_phrase(path, *pair) for path, pair in changed.items()]
                log_action(connection, by, Phrase("edited"), name, join_phrases(edits, "; "))
                self._database.notify()
        return after

    def delete_task(self, name: str, by: str = COMMAND_LINE) -> int:
        """Delete a task without check-ins; return how many devices had joined it."""
        task = self.task(name).id
        with self._database.writing() as connection:
            self._database.lock(task)
            if len(self.log(task)):
                raise InvalidInput(
                    f"only a task without check-ins can be deleted, and {name!r} has some. Stop it."
                )
            devices = self.count_devices(task)
            for table in (schema.devices, schema.invites, schema.joins, schema.snapshots):
                connection.execute(sa.delete(table).where(table.c.task == task))
            # The names of tasks cannot contain this character.
            gone = {"name": f"#{task}", "document": "", "terms": "", "state": DELETED}
            change = sa.update(schema.tasks).where(schema.tasks.c.id == task)
            connection.execute(change.values(gone))
            joined_before = Phrase("{n} devices had joined", n=devices)
            log_action(connection, by, Phrase("deleted"), name, joined_before)
            self._database.notify()
        return devices

    # Devices and invites

    def enrol(
        self, task: int, invite: str | None, invite_required: bool, visitor: str | None = None
    ) -> tuple[DeviceRow, str]:
        """Enrol a device and return its token, of which only the hash is stored.

        Args:
            visitor: The network that it joins from, of which a keyed hash is kept for a day.
        """
        token = new_token()
        with self._database.writing() as connection:
            if invite_required:
                use_invite(connection, task, invite)
            self._database.lock(task)
            number = self.count_devices(task)
            device = DeviceRow(task, number, secrets.token_hex(16), "active")
            row = device._asdict() | {"token_sha256": token_sha256(token)}
            connection.execute(sa.insert(schema.devices), row)
            if visitor is not None:
                self.joins.note(task, number, visitor)
            self._database.notify(task)
        return device, token

    def device(self, token: bytes) -> DeviceRow | None:
        """Return the device with this token hash."""
        c = schema.devices.c
        query = sa.select(c.task, c.number, c.name, c.status).where(c.token_sha256 == token)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return DeviceRow(*row) if row else None

    def devices(self, task: int, first: int = 0, most: int | None = None) -> list[DeviceRow]:
        """List the devices of a task by number, from `first` on."""
        c = schema.devices.c
        query = sa.select(c.task, c.number, c.name, c.status).where(c.task == task)
        query = query.where(c.number >= first).order_by(c.number).limit(most)
        with self._database.reading() as connection:
            return [DeviceRow(*row) for row in connection.execute(query)]

    def set_device_status(self, name: str, status: str, by: str = COMMAND_LINE) -> None:
        """Record that a device has left, or that an owner revoked it (an owner's action)."""
        c = schema.devices.c
        query = sa.select(schema.tasks.c.name, schema.tasks.c.id).join(schema.devices)
        with self._database.writing() as connection:
            task, number = connection.execute(query.where(c.name == name)).first() or (None, None)
            if task is None:
                raise InvalidInput(f"there is no device {name!r}. `crowdml task show` lists them.")
            change = sa.update(schema.devices).where(c.name == name).values(status=status)
            connection.execute(change)
            t = schema.tasks.c
            more = sa.update(schema.tasks).where(t.id == number).values(removed=t.removed + 1)
            connection.execute(more)
            if status == "revoked":
                which = Phrase("device {name}", name=name)
                log_action(connection, by, Phrase("revoked"), task, which)
            self._database.notify()

    def count_devices(self, task: int) -> int:
        """Count enrolled devices: they are numbered without gaps, so the last number counts."""
        c = schema.devices.c
        query = sa.select(sa.func.max(c.number)).where(c.task == task)
        with self._database.reading() as connection:
            last = connection.execute(query).scalar()
        return 0 if last is None else last + 1

    def log(self, task: int) -> Log:
        return Log(self._database, task)


def _edit_phrase(path: str, before: Any, after: Any) -> Phrase:
    return Phrase("{place}: {before} → {after}", place=path, before=str(before), after=str(after))
