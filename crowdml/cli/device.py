"""crowdml device: what a participant does, with one file that holds everything."""

import shlex
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from crowdml.cli import device_move as moving
from crowdml.cli.consent import ask
from crowdml.cli.device_file import FILE, YES, find, limits_in
from crowdml.cli.device_ledger import ledger, told_before
from crowdml.cli.device_run import GO_ON, asking, run_topic
from crowdml.cli.options import (
    CSV,
    FINGERPRINT,
    INSECURE_HTTP,
    LABEL,
    PER_DEVICE,
    PER_SAMPLE,
    source_name,
)
from crowdml.cli.output import say, say_what_is_logged
from crowdml.cli.ranges import ranged
from crowdml.device import (
    Account,
    Device,
    DeviceStore,
    Fed,
    HttpTransport,
    Outcome,
    Waiting,
    default_file,
    default_limits,
    pin,
    read_link,
    read_terms,
)
from crowdml.device.sources import feed, is_address, read_address
from crowdml.errors import InvalidInput, InvalidSample
from crowdml.privacy import Limits
from crowdml.protocol import Terms
from crowdml.tables import read_dialect

app = typer.Typer(help="Take part in a task.", no_args_is_help=True)
SHOWN = 5
"""Skipped samples that are shown; of the others the number is."""

CODES = {
    Outcome.ENDED: 3,
    Outcome.LIMIT: 4,
    Outcome.WAITING: 5,
    Outcome.PAUSED: 6,
    Outcome.TERMS: 7,
}
"""How `crowdml device run` ends, for whoever decides when to start it again."""


@app.command()
def join(
    url: Annotated[str, typer.Argument(help="https://HOST:PORT/join/TASK, or with --task.")],
    task: Annotated[str | None, typer.Option(help="The task's name, if not in the URL.")] = None,
    file: FILE = None,
    invite: Annotated[str | None, typer.Option(help="An invite code.")] = None,
    fingerprint: FINGERPRINT = None,
    per_sample: PER_SAMPLE = None,
    per_device: PER_DEVICE = None,
    yes: YES = False,
    accept_no_privacy: Annotated[
        bool, typer.Option("--accept-no-privacy", help="Join even a task that is NOT PRIVATE.")
    ] = False,
    insecure_http: INSECURE_HTTP = False,
) -> None:
    """Read a task's terms, agree to them, and join."""
    root, name = read_link(url, task)
    certificate = pin(root, fingerprint) if fingerprint else None
    with closing(HttpTransport(root, name, certificate, insecure_http)) as transport:
        view = transport.task()
    offer = read_terms(view, name)
    known = limits_in(path := file or default_file(name))
    limits = _changed(known or default_limits(offer.terms), per_sample, per_device)
    with closing(Account(path.parent)) as account:
        before = told_before(account.statement)
    ask(offer, limits, "Agree and join?", yes, (view.title, view.objective, ""), before)
    with Device.join(
        root,
        name,
        file=file,
        invite=invite,
        fingerprint=fingerprint,
        terms_sha256=offer.sha256,
        limits=limits,
        accept_no_privacy=accept_no_privacy,
        insecure_http=insecure_http,
    ) as device:
        say(f"{'already ' if known else ''}joined {name} as device {device.identity.device}")
        if known and known != limits:
            say(_in_words(limits))


@app.command()
def run(
    source: Annotated[
        str,
        typer.Option(
            envvar="CROWDML_SOURCE",
            help="A CSV or JSON-lines file, - for stdin, or mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC.",
        ),
    ],
    file: FILE = None,
    jitter: Annotated[float, ranged("seconds", "Random seconds to wait before a check-in.")] = 0.0,
    wait: Annotated[float, ranged("seconds", "Seconds to keep retrying at the end.")] = 60.0,
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
    csv: CSV = None,
    label: LABEL = None,
    discovery: Annotated[
        bool,
        typer.Option(
            "--discovery", help="Show the device, never a sample, in Home Assistant, over MQTT."
        ),
    ] = False,
    ca: Annotated[
        Path | None, typer.Option(help="Certificates to trust for mqtts://, not the system's.")
    ] = None,
    yes: GO_ON = False,
) -> None:
    """Feed samples to the device and let it check in. A file goes on where the last run ended, a
    topic is read until Ctrl-C or the end of the task."""
    say_what_is_logged()
    address = read_address(source) if is_address(source) else None
    dialect = read_dialect(csv) if csv else None
    for_files = {"--again": again, "--csv": csv, "--readings": readings, "--strict": strict}
    for_topics = {"--ca": ca, "--discovery": discovery}
    for option, given in (for_files if address else for_topics).items():
        if given:
            raise typer.BadParameter(f"{option} is not for this kind of source; leave it out.")
    numbers = count(1)

    def on_skip(error: InvalidSample) -> None:
        if next(numbers) <= SHOWN:
            say(f"skipped a sample: {error}", err=True)

    def on_note(note: str) -> None:
        say(f"{address or source_name(source)}: {note}", err=True)

    on_doubt = asking(yes, source)
    with Device(DeviceStore(find(file)), waiting=Waiting(jitter=jitter)) as device:
        if address:
            fed = run_topic(device, address, ca, discovery, label, on_skip, on_note, on_doubt)
        else:
            fed = feed(
                device,
                source,
                readings=readings,
                again=again,
                strict=strict,
                wait=wait,
                csv=dialect,
                label=label,
                on_skip=on_skip,
                on_note=on_note,
                on_doubt=on_doubt,
            )
        if fed.skipped > SHOWN:
            say(f"… and {fed.skipped - SHOWN} more", err=True)
        where = f" --file {shlex.quote(str(file))}" if file else ""
        _report(fed, device, str(address or source), where, readings)
        if fed.found_nothing and not address:
            raise InvalidInput(
                f"{source_name(source)} must have at least one valid sample, found none"
                + (f", and {fed.skipped} that are not" if fed.skipped else "")
                + f". The task wants {_wanted(device.terms, readings)}."
            )
        raise typer.Exit(CODES.get(Outcome.ENDED if device.ended else fed.outcome, 0))


def _report(fed: Fed, device: Device, source: str, where: str, readings: bool) -> None:
    """What was done, what waits, and how to go on."""
    if fed.resumed_after:
        say(f"went on after line {fed.resumed_after:,} of {source}")
    say(
        f"{fed.kept} samples kept, {fed.answered} check-ins answered, "
        f"{device.n_samples} samples in the buffer"
        + (", a check-in waits to be sent" if device.pending else "")
    )
    if fed.taken:
        say(f"{fed.taken} more were taken by another run in the meantime")
    if fed.stopped and not device.ended:
        say(f"the buffer was full: the rest of {source_name(source)} is not taken yet")
    again = f"`crowdml device run{where}{' --readings' if readings else ''} --source "
    again += f"{shlex.quote(source)}`" + (" with new samples only" if source == "-" else "")
    waiting = f"{device.n_samples} samples wait on this device"
    match fed.outcome:
        case Outcome.LIMIT:
            limits = f"crowdml device limits{where}{_wider(device)}"
            say(f"stopped at your limit on ε: {waiting}. To go on: `{limits}`, then {again}.")
        case Outcome.TERMS:
            agree = f"`crowdml device agree{where}`"
            say(f"stopped, as the terms changed: {waiting}. To go on: {agree}, then {again}.")
        case Outcome.PAUSED:
            say(f"stopped, as the task is paused: {waiting}; run again later: {again}.")
        case Outcome.WAITING:
            say(f"stopped without the server's answer: {waiting}; run again later: {again}.")
    if device.ended:
        say(f"the task is over for this device: {device.ended}")


def _wanted(terms: Terms, readings: bool) -> str:
    if readings:
        return "lines of a time, one reading or three, and a label, and windows without gaps"
    label = f"one of {', '.join(terms.target.labels)}" if terms.target.labels else "a number"
    if terms.features.names:
        return f"the columns {', '.join(terms.features.names)}, and {label}"
    return f"lines of {terms.features.count} numbers and then {label}"


def _wider(device: Device) -> str:
    """The options for the least limits with which the next check-in may be sent."""
    limits, cost = device.identity.limits, device.terms.loss.total
    total = device.ledger.epsilon_spent + cost
    options = ""
    if limits.per_sample < cost:
        options += f" --per-sample {cost:.12g}"
    if limits.per_device < total:
        options += f" --per-device {total:.12g}"
    return options


@app.command()
def limits(per_sample: PER_SAMPLE = None, per_device: PER_DEVICE = None, file: FILE = None) -> None:
    """Change the limits on ε, or show them."""
    with Device(DeviceStore(find(file))) as device:
        old = device.identity.limits
        new = _changed(old, per_sample, per_device)
        if new != old:
            device.set_limits(new)
    say(_in_words(new))


def _in_words(limits: Limits) -> str:
    return f"limits: ε = {limits.per_sample:g} for a sample, {limits.per_device:g} for the device"


def _changed(limits: Limits, per_sample: float | None, per_device: float | None) -> Limits:
    return Limits(
        limits.per_sample if per_sample is None else per_sample,
        limits.per_device if per_device is None else per_device,
    )


@app.command()
def agree(file: FILE = None, yes: YES = False) -> None:
    """Read the terms that the server has now, and agree to them."""
    with Device(DeviceStore(find(file))) as device:
        offer = device.current_terms()
        sent = [event.loss for event in device.ledger.events]
        ask(offer, device.identity.limits, "Agree to these terms?", yes, sent=sent)
        device.agree(offer.sha256)
    say(f"agreed to the terms of {offer.terms.task}")


@app.command()
def leave(
    file: FILE = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the file with the ledger.")] = False,
) -> None:
    """Leave the task and erase everything here."""
    path = find(file)
    store = DeviceStore(path)
    if store.identity is None:
        store.close()
        if not keep:
            store.remove()
        say("never joined" + ("" if keep else f"; {path} is erased"))
        return
    Device(store).leave(erase=not keep)
    say("left" + ("" if keep else f"; {path} is erased"))


app.command()(ledger)
app.command()(moving.move)
app.command()(moving.repin)
