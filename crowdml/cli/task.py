"""crowdml task: what an owner does with tasks, directly in the server's database."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from crowdml.cli.options import DATABASE, DEFAULT_DATABASE, JSON, open_store
from crowdml.cli.output import Console, print_json, say
from crowdml.errors import InvalidInput, Mistake
from crowdml.phrase import Phrase
from crowdml.visible import visible

if TYPE_CHECKING:
    from crowdml.protocol import Rule
    from crowdml.server import Store
    from crowdml.server.learner import Learner
    from crowdml.server.store import TaskRow

__all__ = ["app"]

app = typer.Typer(help="Create and steer tasks.", no_args_is_help=True)
NAME = Annotated[str, typer.Argument(help="The task's name.")]

STARTER = """\
# A crowdml task. Everything that decides what leaves a device is part of the terms, which
# participants agree to and their devices pin: it cannot be changed later.
name = "{name}"
title = "What is this device doing?"
objective = "Say in plain words what is learnt, and what for."
owner = "Say who runs the task."
contact = "Say how to reach you: a mail address, a page."
purpose = "Say what the model will be used for, and by whom."
sensors = "Say in plain words which sensors are read, and how often."

[features]                  # x: the numbers computed on the device from the sensors
count = 33
description = "Say how they are computed."
# sensor = {{kind = "motion", first_bin = 0.1}}  # without this, phones cannot take part

[target]                    # y: two or more labels; leave labels out to predict a number
labels = ["Still", "Walking", "Jogging"]

[model]
kind = "softmax"            # softmax, hinge; for numbers: ridge, huber
# regularization = 0.0      # lambda
# radius = 1000.0           # R: bound on the parameters
# intercept = false

[privacy]
epsilon = 4.0               # what a person loses in all, at most
# mechanism = "direction"   # protects whole people; gaussian and laplace protect samples

[collection]
batch = 50                  # b: a device checks in when it has so many samples
# checkins = 1              # K: how often a device may check in; the check-ins share epsilon
# evaluators = 0.15         # the share of check-ins that only say whether the model was right
# counters = 0.05           # the share of check-ins that only say one answer

[stop]
updates = 1000              # how many check-ins you expect, within a factor of four
# error = 0.1               # end earlier when the error is surely below this

[enrolment]
mode = "open"               # or "invite"
# max_staleness = 1000      # refuse check-ins that are later than so many others
"""


@app.command()
def new(name: NAME = "my-task") -> None:
    """Print a task file to start from."""
    say(*STARTER.format(name=name).splitlines())


@app.command()
def create(
    file: Annotated[Path, typer.Argument(help="A task file in TOML.")],
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Create a task from a file; a running server takes it in within a second."""
    from crowdml.protocol import Task, terms_hash

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"cannot read the task file {file}: {getattr(error, 'strerror', error)}."
        ) from error
    task = Task.from_toml(text, *_own_words())
    with open_store(database) as store:
        row = store.create_task(task)
    say(f"created {task.name}; its terms have the hash {terms_hash(row.terms)}")
    promise = task.terms.promise
    if not promise.private:
        say(
            f"WARNING: this task is NOT PRIVATE. {promise.sentences['not_private']} Devices must "
            "say that they accept it."
        )
    if "readings" in promise.sentences:
        say(f"{promise.sentences['readings']} To lower it, raise features.sensor.every.")
    if task.terms.features.sensor is None:
        say("phones cannot take part: no [features.sensor]")


def _own_words() -> "Iterator[Rule]":
    """Participants decide by these sentences: those of the template say nothing."""
    from crowdml.protocol import Rule

    template = tuple(re.findall(r'"(Say [^"]+)"', STARTER))

    def check(field: str, sentence: str) -> Iterator[Mistake]:
        if sentence.startswith(template):
            rule = Phrase("must be your own words")
            found = Phrase("the template's {sentence}", sentence=f"{sentence!r}")
            remedy = Phrase("Participants read it before they agree.")
            yield Mistake(field, rule, found, remedy)

    for field in ("objective", "owner", "contact", "purpose", "sensors", "features.description"):
        yield Rule((field,), partial(check, field))


@app.command("list")
def list_tasks(database: DATABASE = DEFAULT_DATABASE, json: JSON = False) -> None:
    """List the tasks."""
    with open_store(database) as store:
        rows = [_summary(store, row, store.count_devices(row.id)) for row in store.tasks()]
    if json:
        print_json({"tasks": rows})
        return
    table = Table("name", "title", "state", "mechanism", "ε", "devices", "check-ins")
    for row in rows:
        keys = ("name", "title", "state", "mechanism", "epsilon", "devices", "checkins")
        table.add_row(*(visible(row[key]) for key in keys))
    Console().print(table if rows else "no tasks; create one with: crowdml task create FILE.toml")


@app.command()
def show(name: NAME, database: DATABASE = DEFAULT_DATABASE, json: JSON = False) -> None:
    """Show a task's state, terms and devices."""
    with open_store(database) as store:
        row = store.task(name)
        devices = store.devices(row.id)
        document = _summary(store, row, len(devices)) | {
            "terms": row.terms,
            "device_states": {device.name: device.status for device in devices},
        }
    if json:
        print_json(document)
        return
    console = Console()
    keys = ("name", "title", "state", "mechanism", "epsilon", "devices", "checkins")
    for key in (*keys, "terms_sha256"):
        console.print(f"{key:>13}  {visible(document[key])}", soft_wrap=True)
    console.print_json(row.terms)
    for device in devices:
        console.print(f"device {device.name}  {device.status}")


@app.command()
def pause(name: NAME, database: DATABASE = DEFAULT_DATABASE) -> None:
    """Take no check-ins until resumed."""
    _set_state(database, name, "paused")


@app.command()
def resume(name: NAME, database: DATABASE = DEFAULT_DATABASE) -> None:
    """Take check-ins again."""
    _set_state(database, name, "running")


@app.command()
def stop(name: NAME, database: DATABASE = DEFAULT_DATABASE) -> None:
    """End a task for good; its model stays."""
    _set_state(database, name, "stopped")


@app.command()
def edit(
    name: NAME,
    title: Annotated[str | None, typer.Option(help="One line for people.")] = None,
    objective: Annotated[str | None, typer.Option(help="What is learnt and what for.")] = None,
    updates: Annotated[
        int | None, typer.Option(help="Check-ins that you expect; only before the first one.")
    ] = None,
    error: Annotated[
        float | None, typer.Option(help="The target error; only before the first check-in.")
    ] = None,
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Change what is not in the terms: words for people, and when the task ends."""
    said = {"title": title, "objective": objective, "stop.updates": updates, "stop.error": error}
    changes = {place: value for place, value in said.items() if value is not None}
    if not changes:
        raise InvalidInput("edit needs something to change: --title, --objective, --updates or "
                           "--error.")  # fmt: skip
    with open_store(database) as store:
        store.edit_task(name, changes)
    say(f"edited {name}")


@app.command()
def delete(name: NAME, database: DATABASE = DEFAULT_DATABASE) -> None:
    """Delete a task that has no check-ins, with the devices that joined it."""
    with open_store(database) as store:
        devices = store.delete_task(name)
    say(f"deleted {name}; {devices} {'device' if devices == 1 else 'devices'} had joined it")


@app.command()
def reopen(name: NAME, database: DATABASE = DEFAULT_DATABASE) -> None:
    """Go on with a task that ended at its target error, if you do not believe that error.

    What was reported before counts no more; devices that stopped can be started again.
    """
    from crowdml.server.accounts import COMMAND_LINE

    with open_store(database) as store:
        learner = _learner(store, store.task(name))
        learner.reopen(COMMAND_LINE)
    say(f"{name} is {learner.state}")


@app.command()
def invite(
    name: NAME,
    uses: Annotated[int, typer.Option(help="How many devices may join with it.")] = 1,
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Make an invite code."""
    with open_store(database) as store:
        row = store.task(name)
        if row.task.enrolment.mode == "open":
            raise InvalidInput(
                f'an invite is for a task with enrolment.mode = "invite", found "open": everyone '
                f"may join {name} without one."
            )
        code = store.create_invite(row.id, uses)
    say(code)
    say(
        f"for {uses} {'device' if uses == 1 else 'devices'}: "
        f"crowdml device join https://HOST:PORT/join/{name} --invite {code}",
        err=True,
    )


@app.command()
def revoke(
    device: Annotated[str, typer.Argument(help="The device's name.")],
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Exclude a device; what it sent before stays in the model."""
    with open_store(database) as store:
        store.set_device_status(device, "revoked")
    say(f"revoked {device}")


@app.command()
def export(
    name: NAME,
    out: Annotated[Path, typer.Option(help="A .npz, .json or .onnx file.")],
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Write the learnt model to a file."""
    kind = out.suffix.lstrip(".")
    with open_store(database) as store:
        from crowdml.learnt import FORMATS, write_model
        from crowdml.server.export import learnt_model

        if kind not in FORMATS:
            raise InvalidInput(f"the file must end in .npz, .json or .onnx, found {out.name!r}.")
        fold = _learner(store, store.task(name)).settled()
        model = write_model(learnt_model(fold), kind)
    _write(out, model)
    say(f"wrote version {fold.version} of {name} to {out}")


@app.command()
def card(
    name: NAME,
    out: Annotated[Path | None, typer.Option(help="A .md file; without it, print.")] = None,
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Write a model card: what was learnt, how well, what was promised to whom, and its limits."""
    with open_store(database) as store:
        from crowdml.server.card import model_card

        text = model_card(_learner(store, store.task(name)))
    if out is None:
        say(*text.splitlines())
    else:
        _write(out, text.encode())
        say(f"wrote the model card of {name} to {out}")


def _write(out: Path, data: bytes) -> None:
    try:
        out.write_bytes(data)
    except OSError as error:
        raise InvalidInput(f"cannot write to {out}: {error.strerror}.") from error


def _set_state(database: str, name: str, state: str) -> None:
    with open_store(database) as store:
        now = _learner(store, store.task(name)).state
        if now in ("reached", "exhausted"):
            remedy = "`crowdml task reopen` goes on." if now == "reached" else "Create a new one."
            raise InvalidInput(f"the task {name!r} has ended: {now}. {remedy}")
        store.set_task_state(name, state)
    say(f"{name} is {state}")


def _learner(store: "Store", row: "TaskRow") -> "Learner":
    from crowdml.server.learner import Learner

    return Learner(row, store.log(row.id), snapshot_every=1000)


def _summary(store: "Store", row: "TaskRow", devices: int) -> dict[str, Any]:
    from crowdml.protocol import terms_hash

    return {
        "name": row.task.name,
        "title": row.task.title,
        "state": _learner(store, row).state,
        "mechanism": row.task.terms.mechanism_name,
        "epsilon": row.task.terms.privacy.epsilon,
        "devices": devices,
        "checkins": len(store.log(row.id)),
        "terms_sha256": terms_hash(row.terms),
    }
