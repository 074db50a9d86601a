"""Which file is meant by a command about a device."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from crowdml.device import DeviceStore, default_file
from crowdml.errors import DeviceError
from crowdml.privacy import Limits

FILE = Annotated[Path | None, typer.Option(help="The device's file; found by itself if only one.")]
YES = Annotated[bool, typer.Option("--yes", help="Agree without being asked.")]


def find(file: Path | None) -> Path:
    """The device's file: the one named, or the only one there is."""
    if file is None:
        folder = default_file("x").parent
        found = sorted(folder.glob("*.device"))
        found = [path for path in found if _has_joined(path)] or found
        if len(found) != 1:
            names = ", ".join(path.name for path in found) or "none"
            raise DeviceError(f"which device? Say --file FILE; in {folder} there are: {names}.")
        return found[0]
    if not file.exists():
        raise DeviceError(f"there is no device file {file}. Join a task first.")
    return file


def limits_in(file: Path) -> Limits | None:
    """Those of the device that has joined with this file, if one has."""
    if not file.exists():
        return None
    with closing(DeviceStore(file)) as store:
        identity = store.identity
    return identity.limits if identity else None


def _has_joined(file: Path) -> bool:
    """Whether it is a device's file; one that cannot be used is, so that people are told."""
    try:
        return limits_in(file) is not None
    except DeviceError:
        return True
