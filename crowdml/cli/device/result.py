"""Define `crowdml device result`: what became of a participant's check-ins."""

import shlex
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from crowdml.cli.device.file import DEVICE_FILE, find_device_file
from crowdml.cli.device.ledger import personal_accuracy
from crowdml.cli.output import print_lines, write_file
from crowdml.device import (
    Agreement,
    DeviceStore,
    HttpTransport,
    Identity,
    describe_contribution,
    fingerprint_of,
)
from crowdml.protocol import Statistics, Terms


def result(
    file: DEVICE_FILE = None,
    save: Annotated[Path | None, typer.Option(help="Save the model in this file, as JSON.")] = None,
) -> None:
    """Show what became of your check-ins, how well the model works for you, and how to keep it."""
    with closing(DeviceStore(find_device_file(file))) as store:
        identity, tallies, mine = store.joined, store.results.tallies, store.results.versions
    print_lines(*personal_accuracy(Terms.parse(identity.terms), tallies))
    where = identity.url, identity.task, identity.certificate, identity.insecure_http
    with closing(HttpTransport(*where)) as server:
        now = server.statistics()
        print_lines(_state(identity, now), *describe_contribution(mine, now, server.errors()))
        if save:
            model = server.export()
            Agreement(identity).accept_export(model)
            write_file(save, model)
    option = f" --file {shlex.quote(str(file))}" if file else ""
    print_lines(*_next_steps(identity, now, save, option))


def _state(identity: Identity, now: Statistics) -> str:
    if now.state.final:
        return f"The task {identity.task} has ended, after {now.version:,} check-ins."
    return f"The task {identity.task} is {now.state.phrase}, with {now.version:,} check-ins so far."


def _next_steps(identity: Identity, now: Statistics, saved: Path | None, option: str) -> list[str]:
    model = shlex.quote(str(saved or f"{identity.url}/tasks/{identity.task}"))
    if not saved and identity.certificate:
        model += f" --fingerprint {fingerprint_of(identity.certificate)}"
    steps = [f"leave, and erase everything: crowdml device leave{option}"]
    if now.version:
        steps = [f"try the model: crowdml predict {model} --source FILE", *steps]
    if now.version and not saved:
        keep = f"crowdml device result{option} --save {identity.task}.json"
        steps.insert(1, f"keep the model: {keep}")
    return steps
