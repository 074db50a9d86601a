"""Find the device file that a command refers to."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from crowdml.device import DeviceStore, default_file
from crowdml.errors import DeviceError
from crowdml.privacy import Limits

DEVICE_FILE = Annotated[
    Path | None, typer.Option(help="The device's file. Not needed where there is only one.")
]
YES = Annotated[bool, typer.Option("--yes", help="Agree without being asked.")]


def find_device_file(file: Path | None) -> Path:
    """Return the device's file: the named file, or the only file that exists."""
    if file is None:
        folder = default_file("x").parent
        found = sorted(folder.glob("*.device"))
        found = [path for path in found if _has_joined(path)] or found
        if len(found) != 1:
            names = ", ".join(path.name for path in found)
            raise DeviceError(
                f"{folder} must have one device, found {names}. Choose one with --file."
                if found
                else f"{folder} must have a device, found none. Join a task, or use --file."
            )
        return found[0]
    if not file.exists():
        raise DeviceError(f"there is no device file {file}. Join a task first.")
    return file


def limits_in(file: Path) -> Limits | None:
    """Return the limits of the device in this file; None if no device has joined with the file."""
    if not file.exists():
        return None
    with closing(DeviceStore(file)) as store:
        identity = store.identity
    return identity.limits if identity else None


def _has_joined(file: Path) -> bool:
    """Return whether a device has joined with a file.

    A file that cannot be used counts as joined, so that its error is shown.
    """
    try:
        return limits_in(file) is not None
    except DeviceError:
        return True
