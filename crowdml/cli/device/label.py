"""Define `crowdml device label`: the current label of a running device."""

import time
from contextlib import closing
from typing import Annotated

import typer

from crowdml.cli.device.file import DEVICE_FILE, find_device_file
from crowdml.cli.output import print_lines
from crowdml.device import DeviceStore, set_label


def label(
    name: Annotated[str | None, typer.Argument(help="One of the task's labels.")] = None,
    none: Annotated[
        bool, typer.Option("--none", help="Collect nothing until another label is set.")
    ] = False,
    file: DEVICE_FILE = None,
) -> None:
    """Set the label of what a running device reads from now on, or show it."""
    if name is not None and none:
        raise typer.BadParameter("give a label or --none, not both.")
    with closing(DeviceStore(find_device_file(file))) as store:
        if name is not None or none:
            name = set_label(store, name, time.time_ns())
        else:
            current = store.streams.label
            name = current.label if current else None
    print_lines(describe_label(name))


def describe_label(label: str | None) -> str:
    """Return a sentence about the current label."""
    if label is None:
        return "no label is set: nothing is collected until `crowdml device label NAME`"
    return f"what is read now counts as {label}"
