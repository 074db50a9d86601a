"""crowdml device: what a participant does, with one file that holds everything."""

import logging
import shlex
import sys
from collections.abc import Iterable
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
    Place,
    default_file,
    default_limits,
    pin,
    read_recording,
    read_source,
    read_terms,
)
from crowdml.device.sources import Sample
from crowdml.errors import DeviceError, InvalidInput, InvalidSample
from crowdml.privacy import Limits
from crowdml.protocol import Terms

__all__ = ["app"]

app = typer.Typer(help="Take part in a task.", no_args_is_help=True)
SHOWN = 5
"""Skipped samples that are shown; of the others the number is."""

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
    path = file or default_file(name)
    already = "already " if path.exists() and _has_joined(path) else ""
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
        print(f"{already}joined {name} as device {device.identity.device}")


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
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Take a file from its first line, even what was taken before: such samples "
            "count, and cost, twice.",
        ),
    ] = False,
) -> None:
    """Feed samples to the device and let it check in. A file goes on where the last run ended."""
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    with Device(DeviceStore(_find(file)), jitter=jitter) as device:
        path = None if again else Place.path(source)
        place = Place(source, device.position(path) if path else None)
        before = _answered(device)
        feed = _Feed(device, place, strict, wait)
        labels = device.terms.target.labels
        feed.take(
            read_recording(source, device.terms.features, labels, place)
            if readings
            else read_source(source, labels, place)
        )
        last = device.flush(wait)
        if place.start:
            print(f"went on after line {place.start:,} of {source}")
        print(
            f"{feed.kept} samples kept, {_answered(device) - before} check-ins answered, "
            f"{device.n_samples} samples in the buffer"
            + (", a check-in waits to be sent" if device.pending else "")
        )
        if feed.stopped and not device.ended:
            print(f"the buffer was full: the rest of {_named(source)} is not taken yet")
        sentence = _why_it_stopped(last, device, source, file, readings)
        if sentence:
            print(sentence)
        if device.ended:
            print(f"the task is over for this device: {device.ended}")
        if feed.found_nothing:
            raise InvalidInput(
                f"{_named(source)} must have at least one valid sample, found none"
                + (f", and {feed.skipped} that are not" if feed.skipped else "")
                + f". The task wants {_wanted(device.terms, readings)}."
            )


class _Feed:
    """Gives samples to a device, and counts what became of them."""

    def __init__(self, device: Device, place: Place, strict: bool, wait: float) -> None:
        self._device = device
        self._place = place
        self._strict = strict
        self._wait = wait
        self.kept = self.skipped = 0
        self.stopped = False

    @property
    def found_nothing(self) -> bool:
        """Nothing was kept, although there was something to read; nothing new is no mistake."""
        new = self.skipped or (self._place.lines and not self._place.start)
        return bool(new and not self.kept and not self.stopped)

    def take(self, samples: Iterable[Sample | InvalidSample]) -> None:
        for sample in samples:
            try:
                outcome = self._add(sample)
            except InvalidSample as error:
                if self._strict:
                    raise
                self.skipped += 1
                if self.skipped <= SHOWN:
                    print(f"skipped a sample: {error}", file=sys.stderr)
                continue
            if outcome in (Outcome.FULL, Outcome.ENDED):
                self.stopped = True
                break
            self.kept += 1
        if self.skipped > SHOWN:
            print(f"… and {self.skipped - SHOWN} more", file=sys.stderr)

    def _add(self, sample: Sample | InvalidSample) -> Outcome:
        if isinstance(sample, InvalidSample):
            raise sample
        position = self._place.position
        try:
            outcome = self._device.add(*sample, position)
            if outcome is Outcome.FULL and self._device.flush(self._wait) is Outcome.CHECKED_IN:
                outcome = self._device.add(*sample, position)
        except InvalidSample as error:
            hint = " This looks like a recording: add --readings." if self._recorded(sample) else ""
            raise InvalidSample(f"line {self._place.lines}: {error}{hint}") from error
        return outcome

    def _recorded(self, sample: Sample) -> bool:
        """Whether a line has the columns of a recording, and not those of the features."""
        features, found = self._device.terms.features, len(sample[0])
        sensor = features.sensor
        return bool(
            sensor and sensor.kind != "manual" and found in (2, 4) and found != features.count
        )


def _named(source: str) -> str:
    return "standard input" if source == "-" else source


def _wanted(terms: Terms, readings: bool) -> str:
    if readings:
        return "lines of a time, one reading or three, and a label, and windows without gaps"
    return f"lines of {terms.features.count} numbers and then {_label(terms)}"


def _label(terms: Terms) -> str:
    return f"one of {', '.join(terms.target.labels)}" if terms.target.labels else "a number"


def _why_it_stopped(
    last: Outcome, device: Device, source: str, file: Path | None, readings: bool
) -> str:
    """What waits, and how to go on."""
    waiting = f"{device.n_samples} samples wait on this device"
    where = f" --file {shlex.quote(str(file))}" if file else ""
    how = " --readings" if readings else ""
    again = f"`crowdml device run{where}{how} --source {shlex.quote(source)}`"
    if source == "-":
        again += " with new samples only"
    match last:
        case Outcome.LIMIT:
            limits = f"crowdml device limits{where}{_wider(device)}"
            return f"stopped at your limit on ε: {waiting}. To go on: `{limits}`, then {again}."
        case Outcome.TERMS:
            agree = f"`crowdml device agree{where}`"
            return f"stopped, as the terms changed: {waiting}. To go on: {agree}, then {again}."
        case Outcome.PAUSED:
            return f"stopped, as the task is paused: {waiting}; run again later: {again}."
        case Outcome.WAITING:
            return f"stopped without the server's answer: {waiting}; run again later: {again}."
    return ""


def _wider(device: Device) -> str:
    """The options for the least limits with which the next check-in may be sent."""
    limits, cost = device.identity.limits, device.terms.epsilon_per_sample
    total = device.ledger.per_device + cost
    options = ""
    if limits.per_sample < cost:
        options += f" --sample-limit {cost:.12g}"
    if limits.per_device < total:
        options += f" --device-limit {total:.12g}"
    return options


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
    sample_limit: Annotated[
        float | None, typer.Option(help="The most ε that one sample may lose.")
    ] = None,
    device_limit: Annotated[
        float | None, typer.Option(help="The most ε for all check-ins together.")
    ] = None,
    file: FILE = None,
) -> None:
    """Change the limits on ε, or show them."""
    with Device(DeviceStore(_find(file))) as device:
        old = device.identity.limits
        new = Limits(
            old.per_sample if sample_limit is None else sample_limit,
            old.per_device if device_limit is None else device_limit,
        )
        if new != old:
            device.set_limits(new)
    print(f"limits: ε = {new.per_sample:g} for a sample, {new.per_device:g} for the device")


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
    store = DeviceStore(path)
    if store.identity is None:
        store.close()
        if not keep:
            store.erase()
        print("never joined" + ("" if keep else f"; {path} is erased"))
        return
    Device(store).leave(erase=not keep)
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
        found = [path for path in found if _has_joined(path)] or found
        if len(found) != 1:
            names = ", ".join(path.name for path in found) or "none"
            raise DeviceError(f"which device? Say --file FILE; in {folder} there are: {names}.")
        return found[0]
    if not file.exists():
        raise DeviceError(f"there is no device file {file}. Join a task first.")
    return file


def _has_joined(file: Path) -> bool:
    """Whether it is a device's file; one that cannot be used is, so that people are told."""
    try:
        with closing(DeviceStore(file)) as store:
            return store.identity is not None
    except DeviceError:
        return True


def _in_plain_words(terms: Terms, limits: Limits) -> str:
    cost, batch = terms.epsilon_per_sample, terms.collection.batch
    wanted = ", ".join(terms.target.labels) or terms.target.description or "a number"
    noise = (
        "all with random noise. Never a sample."
        if terms.private
        else "all without any noise: samples could be worked out from them."
    )
    lines = [
        f"What is read:      {terms.sensors}",
        f"What is computed:  {terms.features.count} numbers. {terms.features.description}",
        f"What is predicted: {wanted}",
        f"What leaves:       after every {batch} samples: the sum of what they suggest to change, "
        f"how many were predicted wrongly and how many had each label, {noise}",
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
