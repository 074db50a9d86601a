"""Define `crowdml device join`: read the terms, agree and join, or join again."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from crowdml.cli.consent import ask
from crowdml.cli.device.file import DEVICE_FILE, YES, limits_in
from crowdml.cli.device.ledger import sent_before
from crowdml.cli.options import FINGERPRINT, INSECURE_HTTP, PER_DEVICE, PER_SAMPLE
from crowdml.cli.output import counted, print_lines
from crowdml.device import (
    Account,
    Device,
    DeviceStore,
    HttpTransport,
    JoinOptions,
    TermsOffer,
    default_file,
    default_limits,
    fetch_certificate,
    read_link,
    read_terms,
    rejoin,
)
from crowdml.errors import InvalidInput
from crowdml.privacy import Limits


def join(
    url: Annotated[
        str,
        typer.Argument(
            help="The task's link, https://HOST:PORT/join/TASK, or a server's address with --task."
        ),
    ],
    task: Annotated[
        str | None, typer.Option(help="The task's name, if the address does not have it.")
    ] = None,
    file: DEVICE_FILE = None,
    invite: Annotated[str | None, typer.Option(help="An invite code.")] = None,
    fingerprint: FINGERPRINT = None,
    per_sample: PER_SAMPLE = None,
    per_device: PER_DEVICE = None,
    yes: YES = False,
    accept_no_privacy: Annotated[
        bool, typer.Option("--accept-no-privacy", help="Join even if the task is NOT PRIVATE.")
    ] = False,
    insecure_http: INSECURE_HTTP = False,
) -> None:
    """Read a task's terms, agree to them, and join."""
    root, name = read_link(url, task)
    if task is not None and "/join/" in url and (linked := read_link(url).task) != task:
        raise InvalidInput(
            f"--task must be the link's task {linked}, found {task!r}. Leave it out."
        )
    certificate = fetch_certificate(root, fingerprint) if fingerprint is not None else None
    with closing(HttpTransport(root, name, certificate, insecure_http)) as transport:
        view = transport.task()
    offer = read_terms(view, name)
    known = limits_in(path := file or default_file(name))
    limits = changed(known or default_limits(offer.terms), per_sample, per_device)
    options: JoinOptions = {
        "invite": invite,
        "fingerprint": fingerprint,
        "terms_sha256": offer.sha256,
        "limits": limits,
        "accept_no_privacy": accept_no_privacy,
        "insecure_http": insecure_http,
    }
    with closing(Account(path.parent)) as account:
        before = sent_before(account.statement)
    about = (view.title, view.objective, "")
    if known and (why := _excluded(path, root, name)):
        _join_again(path, root, why, offer, limits, yes, about, options)
        return
    ask(offer, limits, "Agree and join?", yes, about, before)
    with Device.join(root, name, file=file, **options) as device:
        print_lines(
            f"{'already ' if known else ''}joined {name} as device {device.identity.device}"
        )
        if known and known != limits:
            print_lines(in_words(limits))


def _excluded(path: Path, root: str, task: str) -> str | None:
    """Return why the server no longer accepts the file's device.

    None if the server accepts the device, or if the file belongs to another server or task.
    """
    with Device(DeviceStore(path)) as device:
        me = device.identity
        same = (me.url.rstrip("/"), me.task) == (root.rstrip("/"), task) and me.token
        return device.excluded() if same else None


def _join_again(
    path: Path,
    root: str,
    why: str,
    offer: TermsOffer,
    limits: Limits,
    yes: bool,
    about: tuple[str, ...],
    options: JoinOptions,
) -> None:
    with closing(DeviceStore(path)) as store:
        sent = [event.loss for event in store.ledger.events]
        kept = f"{counted(store.n_samples, 'sample')} that no check-in has used"
        print_lines(f"the server no longer accepts this device: {why}", err=True)
        print_lines(f"the file keeps its ledger and {kept}, for the new device.", err=True)
        ask(offer, limits, "Agree and join again?", yes, about, sent=sent)
        rejoin(store, offer, root, **options)
        identity = store.joined
    print_lines(f"joined {identity.task} again as device {identity.device}, with {kept}")


def in_words(limits: Limits) -> str:
    """Describe limits in words."""
    return f"limits: ε = {limits.per_sample:g} for a sample, {limits.per_device:g} for the device"


def changed(limits: Limits, per_sample: float | None, per_device: float | None) -> Limits:
    """Return the limits with the given numbers in place of the old ones."""
    given = {"per_sample": per_sample, "per_device": per_device}
    return replace(limits, **{key: value for key, value in given.items() if value is not None})
