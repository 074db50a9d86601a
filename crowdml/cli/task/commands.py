"""Define `crowdml task`: manage tasks directly in the server's database."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from crowdml.cli.console import Console
from crowdml.cli.interruption import confirm
from crowdml.cli.options import DATABASE, DEFAULT_DATABASE, JSON, open_store, read_text
from crowdml.cli.output import print_json, print_lines, write_file
from crowdml.cli.ranges import in_range
from crowdml.cli.task.named_start import about_start, read_named_start
from crowdml.cli.task.new import new
from crowdml.cli.task.template import own_words_rules
from crowdml.errors import InvalidInput
from crowdml.visible import visible

if TYPE_CHECKING:
    from crowdml.server import Store
    from crowdml.server.database import TaskRow
    from crowdml.server.log import Learner

app = typer.Typer(help="Create and manage tasks.", no_args_is_help=True)
TASK_NAME = Annotated[str, typer.Argument(help="The task's name.")]
app.command()(new)
KEYS = ("name", "title", "state", "mechanism", "epsilon", "devices", "checkins")


@app.command()
def create(
    file: Annotated[Path, typer.Argument(help="The task file, in TOML.")],
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Create a task from a file; a running server starts it within a second."""
    from crowdml.protocol import Task, terms_hash

    text = read_text(file, "task")
    task = Task.from_toml(text, *own_words_rules(), start=read_named_start(text, file))
    with open_store(database, create=True) as store:
        row = store.create_task(task)
    print_lines(f"created {task.name}; its terms have the hash {terms_hash(row.terms)}")
    print_lines(*about_start(task))
    promise = task.terms.promise
    if not promise.private:
        print_lines(
            f"WARNING: this task is NOT PRIVATE. {promise.sentences['not_private']} Participants "
            "must accept that before they join."
        )
    for warning in filter(None, (task.liar_warning, task.checkins_warning)):
        print_lines(f"WARNING: {warning}")
    if "readings" in promise.sentences:
        print_lines(f"{promise.sentences['readings']} To lower it, raise features.sensor.every.")
    if task.terms.features.sensor is None:
        print_lines("phones cannot take part: the task has no [features.sensor]")


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
        table.add_row(*(visible(row[key]) for key in KEYS))
    Console().print(table if rows else "no tasks; create one with: crowdml task create FILE.toml")


@app.command()
def show(name: TASK_NAME, database: DATABASE = DEFAULT_DATABASE, json: JSON = False) -> None:
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
    for key in (*KEYS, "terms_sha256"):
        console.print(f"{key:>13}  {visible(document[key])}", soft_wrap=True)
    console.print_json(row.terms)
    for device in devices:
        console.print(f"device {device.name}  {device.status}")


@app.command()
def pause(name: TASK_NAME, database: DATABASE = DEFAULT_DATABASE) -> None:
    """Pause a task: reject check-ins until it is resumed."""
    _set_state(database, name, "paused")


@app.command()
def resume(name: TASK_NAME, database: DATABASE = DEFAULT_DATABASE) -> None:
    """Resume a paused task."""
    _set_state(database, name, "running")


@app.command()
def stop(
    name: TASK_NAME,
    database: DATABASE = DEFAULT_DATABASE,
    yes: Annotated[bool, typer.Option("--yes", help="Stop without a question.")] = False,
) -> None:
    """End a task for good; its model stays."""
    question = f"Stop {name} for good? It will never accept a check-in again; its model stays."
    _set_state(database, name, "stopped", None if yes else question)


@app.command()
def edit(
    name: TASK_NAME,
    title: Annotated[str | None, typer.Option(help="The new title, one line.")] = None,
    objective: Annotated[
        str | None, typer.Option(help="The new objective: what is learnt, and what for.")
    ] = None,
    updates: Annotated[
        int | None,
        in_range(
            "checkins", "The number of check-ins that you expect; only before the first check-in."
        ),
    ] = None,
    error: Annotated[
        float | None, in_range("error", "The target error; only before the first check-in.")
    ] = None,
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Change what is not part of the terms: title, objective, and when the task ends."""
    said = {"title": title, "objective": objective, "stop.updates": updates, "stop.error": error}
    changes = {field: value for field, value in said.items() if value is not None}
    if not changes:
        raise InvalidInput("edit needs a change, found none. Use --title, --objective, --updates "
                           "or --error.")  # fmt: skip
    with open_store(database) as store:
        store.edit_task(name, changes)
    print_lines(f"edited {name}")


@app.command()
def delete(name: TASK_NAME, database: DATABASE = DEFAULT_DATABASE) -> None:
    """Delete a task that has no check-ins, with the devices that joined it."""
    with open_store(database) as store:
        devices = store.delete_task(name)
    print_lines(
        f"deleted {name}; {devices} {'device' if devices == 1 else 'devices'} had joined it"
    )


@app.command()
def reopen(name: TASK_NAME, database: DATABASE = DEFAULT_DATABASE) -> None:
    """Continue a task that ended by itself, for example because you doubt its error.

    Only new reports count for the target error. A task that ended after its last check-in accepts
    the same number once more. Devices that stopped can be started again.
    """
    from crowdml.server.database import COMMAND_LINE

    with open_store(database) as store:
        learner = _learner(store, store.task(name))
        learner.reopen(COMMAND_LINE)
    print_lines(f"{name} is {learner.state}")


@app.command()
def invite(
    name: TASK_NAME,
    uses: Annotated[int, in_range("uses", "The number of devices that may join with it.")] = 1,
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Make an invite code for a task by invitation."""
    with open_store(database) as store:
        row = store.task(name)
        if row.task.enrolment.mode == "open":
            raise InvalidInput(
                'an invite needs a task with enrolment.mode = "invite", found "open". Everyone '
                f"may join {name} without an invite."
            )
        code = store.invites.create(row.id, uses)
    print_lines(code)
    print_lines(
        f"for {uses} {'device' if uses == 1 else 'devices'}: "
        f"crowdml device join https://HOST:PORT/join/{name} --invite {code}",
        err=True,
    )


@app.command()
def revoke(
    device: Annotated[
        str, typer.Argument(help="The device's name, as `crowdml device show` prints it.")
    ],
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Exclude a device from its task; what it sent before stays in the model."""
    with open_store(database) as store:
        store.set_device_status(device, "revoked")
    print_lines(f"revoked {device}")


@app.command()
def export(
    name: TASK_NAME,
    out: Annotated[Path, typer.Option(help="The file to write: .npz, .json or .onnx.")],
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Write the learnt model to a file."""
    kind = out.suffix.lstrip(".")
    with open_store(database) as store:
        from crowdml.learnt import MODEL_FORMATS, write_model
        from crowdml.server.results import learnt_model

        if kind not in MODEL_FORMATS:
            raise InvalidInput(f"--out must end in .npz, .json or .onnx, found {out.name!r}.")
        now = _learner(store, store.task(name)).published
        model = write_model(learnt_model(now), kind)
    write_file(out, model)
    print_lines(f"wrote version {now.version} of {name} to {out}")


@app.command()
def card(
    name: TASK_NAME,
    out: Annotated[
        Path | None, typer.Option(help="The .md file to write. Without it, the card is printed.")
    ] = None,
    database: DATABASE = DEFAULT_DATABASE,
) -> None:
    """Write a model card: what was learnt, how well, what was promised, and its limits."""
    if out is not None and out.suffix != ".md":
        raise InvalidInput(f"--out must end in .md, found {out.name!r}.")
    with open_store(database) as store:
        from crowdml.server.results import model_card

        text = model_card(_learner(store, store.task(name)))
    if out is None:
        print_lines(*text.splitlines())
    else:
        write_file(out, text.encode())
        print_lines(f"wrote the model card of {name} to {out}")


def _set_state(database: str, name: str, state: str, question: str | None = None) -> None:
    with open_store(database) as store:
        now = _learner(store, store.task(name)).state
        if now in ("reached", "exhausted"):
            raise InvalidInput(
                f"the task {name!r} has ended: {now.phrase}. `crowdml task reopen` continues it."
            )
        if question is not None:
            confirm(question)
        store.set_task_state(name, state)
    print_lines(f"{name} is {state}")


def _learner(store: "Store", row: "TaskRow") -> "Learner":
    from crowdml.server.log import Learner

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
