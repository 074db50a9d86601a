"""Define `crowdml device move` and `repin`, for a server that has changed."""

from typing import Annotated

import typer

from crowdml.cli.device.file import DEVICE_FILE, YES, find_device_file
from crowdml.cli.interruption import confirm
from crowdml.cli.options import INSECURE_HTTP
from crowdml.cli.output import print_lines
from crowdml.device import Device, DeviceStore, fingerprint_of, read_link
from crowdml.errors import InvalidInput

ANY = "any that an authority of this system has signed"


def move(
    url: Annotated[str, typer.Argument(help="The server's new address, or its new join link.")],
    fingerprint: Annotated[
        str | None, typer.Option(help="The SHA-256 of its self-signed certificate.")
    ] = None,
    file: DEVICE_FILE = None,
    yes: YES = False,
    insecure_http: INSECURE_HTTP = False,
) -> None:
    """Use the server's new address; identity, terms, ledger and samples stay."""
    with Device(DeviceStore(find_device_file(file))) as device:
        task = device.identity.task
        root = read_link(url, task).root
        if url.rstrip("/") not in (root, f"{root}/join/{task}"):
            raise InvalidInput(f"the link must lead to the task {task}, found {url!r}.")
        _move(device, root, fingerprint, insecure_http, yes)


def repin(
    fingerprint: Annotated[
        str,
        typer.Argument(
            help="The SHA-256 of the new certificate, which the task's owner gives you."
        ),
    ],
    file: DEVICE_FILE = None,
    yes: YES = False,
) -> None:
    """Trust the server's renewed self-signed certificate in place of the old one."""
    with Device(DeviceStore(find_device_file(file))) as device:
        identity = device.identity
        _move(device, identity.url, fingerprint, identity.insecure_http, yes)


def _move(
    device: Device, url: str, fingerprint: str | None, insecure_http: bool, yes: bool
) -> None:
    """Show the old and the new server; end the command unless the participant says yes."""
    identity = device.identity
    pinned = identity.certificate and fingerprint_of(identity.certificate)
    print_lines(
        f"task        {identity.task}, on the terms that were agreed to",
        f"address     {identity.url}",
        f"         to {url}",
        f"certificate {pinned or ANY}",
        f"         to {fingerprint or ANY}",
        err=True,
    )
    if not yes:
        confirm("Trust this server from now on?")
    device.move(url, fingerprint, insecure_http)
    print_lines(f"device {device.identity.device} goes on at {url}")
