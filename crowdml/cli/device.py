"""crowdml device: what a participant does, with one file that holds everything."""

import logging
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from crowdml.device import (
    Device,
    DeviceStore,
    HttpTransport,
    Outcome,
    default_file,
    default_limits,
    pin,
    read_recording,
    read_source,
    read_terms,
)
from crowdml.errors import DeviceError, InvalidInput, InvalidSample
from crowdml.privacy import Limits
from crowdml.protocol import Terms

__all__ = ["app"]

app = typer.Typer(help="Take part in a task.", no_args_is_help=True)
FILE = Annotated[Path | None, typer.Option(help="The device's file; found by itself if only one.")]
JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command()
def join(
    url: Annotated[str, typer.Argument(help="https://HOST:PORT/join/TASK, or with --task.")],
    task: Annotated[str | None, typer.Option(help="The task's name, if not in the URL.")] = None,
    file: FILE = None,
    invite: Annotated[str | None, typer.Option(help="An invite code.")] = None,
    fingerprint: Annotated[
        str | None, typer.Option(help="SHA-256 of the server's self-signed certificate.")
    ] = None,
    sample_limit: Annotated[
        float | None, typer.Option(help="The most ε that one sample may lose.")
    ] = None,
    device_limit: Annotated[
        float | None, typer.Option(help="The most ε that all check-ins may add up to.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Agree without being asked.")] = False,
    accept_no_privacy: Annotated[
        bool, typer.Option("--accept-no-privacy", help="Join even a task that adds no noise.")
    ] = False,
    insecure_http: Annotated[
        bool, typer.Option("--insecure-http", help="Allow plain HTTP beyond loopback.")
    ] = False,
) -> None:
    """Read a task's terms, agree to them, and join."""
    root, name = _split(url, task)
    certificate = pin(root, fingerprint) if fingerprint else None
    with closing(HttpTransport(root, name, certificate, insecure_http)) as transport:
        view = transport.task()
    terms = read_terms(view, name)
    defaults = default_limits(terms)
    limits = Limits(
        defaults.per_sample if sample_limit is None else sample_limit,
        defaults.per_device if device_limit is None else device_limit,
    )
    # What a server says is text: its brackets must not hide anything.
    console = Console(stderr=True, markup=False, highlight=False)
    console.print(f"{view.title}\n{view.objective}\n")
    console.print(_in_plain_words(terms, limits))
    console.print(f"\nterms {view.terms_sha256}", soft_wrap=True)
    if not yes and not typer.confirm("Agree and join?", err=True):
        raise typer.Exit(1)
    with Device.join(
        root,
        name,
        file=file,
        invite=invite,
        fingerprint=fingerprint,
        terms_sha256=view.terms_sha256,
        limits=limits,
        accept_no_privacy=accept_no_privacy,
        insecure_http=insecure_http,
    ) as device:
        print(f"joined {name} as device {device.identity.device}")


@app.command()
def run(
    source: Annotated[str, typer.Option(help="A CSV or JSON-lines file, or - for stdin.")],
    file: FILE = None,
    jitter: Annotated[float, typer.Option(help="Random seconds to wait before a check-in.")] = 0.0,
    wait: Annotated[float, typer.Option(help="Seconds to keep retrying at the end.")] = 60.0,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at a bad sample.")] = False,
    readings: Annotated[
        bool,
        typer.Option(
            "--readings",
            help="The source has sensor readings (time, reading or x, y, z, label), from which "
            "the features are computed as the task describes.",
        ),
    ] = False,
) -> None:
    """Feed samples to the device and let it check in."""
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    kept = 0
    with Device(DeviceStore(_find(file)), jitter=jitter) as device:
        before = _answered(device)
        labels = device.terms.target.labels
        samples = (
            read_recording(source, device.terms.features, labels)
            if readings
            else read_source(source, labels)
        )
        for sample in samples:
            try:
                if isinstance(sample, InvalidSample):
                    raise sample
                x, y = sample
                outcome = device.add(x, y)
            except InvalidSample as error:
                if strict:
                    raise
                print(f"skipped a sample: {error}", file=sys.stderr)
                continue
            if outcome is Outcome.FULL and device.flush(wait) is Outcome.CHECKED_IN:
                outcome = device.add(x, y)
            if outcome in (Outcome.FULL, Outcome.ENDED):
                break
            kept += 1
        last = device.flush(wait)
        print(
            f"{kept} samples kept, {_answered(device) - before} check-ins answered, "
            f"{device.n_samples} samples in the buffer"
            + (", a check-in waits to be sent" if device.pending else "")
        )
        if last in (Outcome.LIMIT, Outcome.TERMS, Outcome.PAUSED, Outcome.WAITING):
            print(f"stopped: {last}; nothing is lost, run again to go on")
        if device.ended:
            print(f"the task is over for this device: {device.ended}")


def _answered(device: Device) -> int:
    return sum(answer != "waiting" for answer in device.answers.values())


@app.command()
def ledger(file: FILE = None, json: JSON = False) -> None:
    """Show everything this device has told, and what it cost."""
    store = DeviceStore(_find(file))
    identity, account, answers = store.identity, store.ledger, store.answers
    store.close()
    if identity is None:
        raise DeviceError(f"{store.file} has not joined a task. Join one first.")
    limits = identity.limits
    if json:
        document = {
            "task": identity.task,
            "epsilon": {
                "per_sample": account.per_sample,
                "per_device": account.per_device,
                "whole_device": account.whole_device,
            },
            "limits": {"per_sample": limits.per_sample, "per_device": limits.per_device},
            "checkins": [
                {
                    "id": checkin,
                    "samples": event.n_samples,
                    "epsilon": event.per_sample,
                    "answer": said,
                }
                for (checkin, said), event in zip(answers.items(), account.events, strict=True)
            ],
        }
        print(msgspec.json.encode(_finite(document)).decode())
        return
    table = Table("check-in", "samples", "ε_g", "ε_e", "ε_y", "cost ε", "answer")
    for (checkin, said), event in zip(answers.items(), account.events, strict=True):
        levels = {release.what: f"{release.epsilon:g}" for release in event.releases}
        parts = [levels.get(what, "–") for what in ("gradient", "errors", "labels")]
        cost = f"{event.per_sample:g}"
        table.add_row(checkin, str(event.n_samples), *parts, cost, escape(said))
    console = Console()
    console.print(table)
    console.print(
        f"any one sample: ε = {account.per_sample:g} of {limits.per_sample:g}\n"
        f"all check-ins:  ε = {account.per_device:g} of {limits.per_device:g}\n"
        f"all {sum(e.n_samples for e in account.events)} samples at once: at most "
        f"ε = {account.whole_device:g} (the promise is for samples, not for the whole device)",
        highlight=False,
    )


@app.command()
def limits(
    sample_limit: Annotated[float, typer.Option(help="The most ε that one sample may lose.")],
    device_limit: Annotated[float, typer.Option(help="The most ε for all check-ins together.")],
    file: FILE = None,
) -> None:
    """Change the limits on ε."""
    with Device(DeviceStore(_find(file))) as device:
        device.set_limits(Limits(sample_limit, device_limit))
    print(f"limits: ε = {sample_limit:g} for a sample, {device_limit:g} for the device")


@app.command()
def agree(file: FILE = None, yes: Annotated[bool, typer.Option("--yes")] = False) -> None:
    """Read the terms that the server has now, and agree to them."""
    with Device(DeviceStore(_find(file))) as device:
        terms = device.current_terms()
        console = Console(stderr=True, markup=False, highlight=False)
        console.print(_in_plain_words(terms, device.identity.limits))
        if not yes and not typer.confirm("Agree to these terms?", err=True):
            raise typer.Exit(1)
        device.agree()
    print(f"agreed to the terms of {terms.task}")


@app.command()
def leave(
    file: FILE = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the file with the ledger.")] = False,
) -> None:
    """Leave the task and erase everything here."""
    path = _find(file)
    Device(DeviceStore(path)).leave(erase=not keep)
    print("left" + ("" if keep else f"; {path} is erased"))


def _split(url: str, task: str | None) -> tuple[str, str]:
    """The server's root and the task's name from a link such as https://host/join/activity."""
    parts = _url_parts(url)
    for marker in ("/join/", "/v1/tasks/"):
        prefix, found, name = parts.path.rstrip("/").partition(marker)
        if found and name:
            return f"{parts.scheme}://{parts.netloc}{prefix}", task or name
    if not task:
        raise InvalidInput(
            f"which task? Give its link https://HOST/join/TASK, or --task, found {url!r}."
        )
    return url.rstrip("/"), task


def _url_parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise InvalidInput(
            f"a link must be https://HOST:PORT/join/TASK, found {url!r}: {error}."
        ) from error
    return parts


def _find(file: Path | None) -> Path:
    """The device's file: the one named, or the only one there is."""
    if file is None:
        folder = default_file("x").parent
        found = sorted(folder.glob("*.device"))
        if len(found) != 1:
            names = ", ".join(path.name for path in found) or "none"
            raise DeviceError(f"which device? Say --file FILE; in {folder} there are: {names}.")
        return found[0]
    if not file.exists():
        raise DeviceError(f"there is no device file {file}. Join a task first.")
    return file


def _in_plain_words(terms: Terms, limits: Limits) -> str:
    cost, batch = terms.epsilon_per_sample, terms.collection.batch
    wanted = ", ".join(terms.target.labels) or terms.target.description or "a number"
    lines = [
        f"What is read:      {terms.sensors}",
        f"What is computed:  {terms.features.count} numbers. {terms.features.description}",
        f"What is predicted: {wanted}",
        f"What leaves:       after every {batch} samples: the sum of what they suggest to change, "
        "how many were predicted wrongly and how many had each label, all with random noise. "
        "Never a sample.",
    ]
    if terms.private:
        lines.append(
            f"How it is hidden:  whatever anyone does with it, one sample changes the chance of "
            f"any message by a factor of at most e^{cost:g}. You allow ε = {limits.per_sample:g} "
            f"for a sample and {limits.per_device:g} for all check-ins together."
        )
    else:
        lines.append("How it is hidden:  NOT AT ALL. THIS TASK IS NOT PRIVATE.")
    return "\n".join(lines)


def _finite(document: object) -> object:
    """JSON has no infinity."""
    if isinstance(document, dict):
        return {key: _finite(value) for key, value in document.items()}
    if isinstance(document, list):
        return [_finite(value) for value in document]
    return "inf" if document == float("inf") else document
