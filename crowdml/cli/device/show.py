"""Define `crowdml device show`: a device's name, task, server and state."""

from typing import Any

from crowdml.cli.device.file import DEVICE_FILE, find_device_file
from crowdml.cli.options import JSON
from crowdml.cli.output import print_json, print_lines
from crowdml.device import Device, DeviceStore


def show(file: DEVICE_FILE = None, json: JSON = False) -> None:
    """Show the device's name, its task, its server and its state."""
    path = find_device_file(file)
    with Device(DeviceStore(path)) as device:
        me = device.identity
        document: dict[str, Any] = {
            "device": me.device,
            "task": me.task,
            "server": me.url,
            "file": str(path),
            "samples": device.n_samples,
            "checkins": len(device.ledger.events),
            "waiting": device.pending,
            "epsilon_spent": device.ledger.epsilon_spent,
            "limits": me.limits,
            "ended": device.ended,
        }
    if json:
        print_json(document)
        return
    print_lines(
        f"device     {me.device}",
        f"task       {me.task} at {me.url}",
        f"file       {path}",
        f"samples    {document['samples']:,} in the buffer",
        f"check-ins  {document['checkins']:,}"
        + (", the last one not answered yet" if document["waiting"] else ""),
        f"spent      ε = {document['epsilon_spent']:g} of {me.limits.per_device:g}",
        f"state      {document['ended'] or 'takes part'}",
    )
