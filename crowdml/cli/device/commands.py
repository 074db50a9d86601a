"""Define `crowdml device`, the commands for participants; one file holds all data of a device."""

import shlex
from typing import Annotated

import typer

from crowdml.cli.consent import ask
from crowdml.cli.device import move as moving
from crowdml.cli.device.file import DEVICE_FILE, YES, find_device_file
from crowdml.cli.device.join import changed, in_words, join
from crowdml.cli.device.label import label
from crowdml.cli.device.ledger import ledger
from crowdml.cli.device.result import result
from crowdml.cli.device.run_app import read_source_of_app, run_app
from crowdml.cli.device.run_notes import GO_ON, RunNotes, make_confirmation, run_topic
from crowdml.cli.device.show import show
from crowdml.cli.options import (
    CA,
    CSV,
    DISCOVERY,
    EVERY,
    FORMAT,
    LABEL,
    PER_DEVICE,
    PER_SAMPLE,
    READINGS,
    SOURCE,
    source_name,
)
from crowdml.cli.output import counted, print_lines, print_warnings
from crowdml.cli.ranges import in_range
from crowdml.device import (
    Device,
    DeviceStore,
    Outcome,
    RetryTimer,
    SourceCounts,
)
from crowdml.device.sources import MOST_BAD, feed, is_address, read_address
from crowdml.errors import DeviceError, InvalidInput
from crowdml.protocol import Terms
from crowdml.tables import read_dialect

app = typer.Typer(help="Take part in a task.", no_args_is_help=True)
app.command()(join)
EXIT_CODES = {
    Outcome.ENDED: 3,
    Outcome.LIMIT: 4,
    Outcome.WAITING: 5,
    Outcome.PAUSED: 6,
    Outcome.TERMS: 7,
}
"""The exit codes of `crowdml device run`, for programs that decide when to start it again."""


@app.command()
def run(
    source: SOURCE,
    file: DEVICE_FILE = None,
    jitter: Annotated[
        float, in_range("seconds", "The most seconds of a random wait before each check-in.")
    ] = 0.0,
    wait: Annotated[
        float, in_range("seconds", "Seconds to keep trying to send at the end.")
    ] = 60.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first line that is not a valid sample.")
    ] = False,
    readings: READINGS = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Read a file from its first line again. Samples that were taken before then "
            "count twice, and cost ε twice.",
        ),
    ] = False,
    csv: CSV = None,
    label: LABEL = None,
    discovery: DISCOVERY = False,
    ca: CA = None,
    format: FORMAT = None,
    every: EVERY = None,
    yes: GO_ON = False,
) -> None:
    """Read samples from a source, and check in when there are enough.

    A file goes on where the last run ended. A live source is read until Ctrl-C or the end of the
    task.
    """
    print_warnings()
    if not source:
        raise InvalidInput("--source must be a file, - or an address, found ''.")
    address = read_address(source) if is_address(source) else None
    dialect = read_dialect(csv) if csv else None
    for_files = {"--again": again, "--csv": csv, "--readings": readings, "--strict": strict}
    for_topics = {"--ca": ca, "--discovery": discovery}
    unfit = (for_files if address or format else {}) | ({} if address else for_topics)
    for option, given in (unfit | {"--every": every and not (readings or format)}).items():
        if given:
            raise typer.BadParameter(f"{option} does not fit this kind of source. Leave it out.")
    app_at = read_source_of_app(source, format)
    # An address may have a secret, so its text is printed, not what was given.
    safe = str(address or (app_at and app_at.address) or source)
    notes = RunNotes(source_name(safe), live=bool(address or app_at))
    on_doubt = make_confirmation(yes, source, source_name(safe))
    with Device(
        DeviceStore(find_device_file(file)), retry_timer=RetryTimer(jitter=jitter)
    ) as device:
        if app_at:
            options = (label, every, ca, discovery, wait, notes.skip, on_doubt)
            counts = run_app(device, find_device_file(file), app_at, *options)
        elif address:
            counts = run_topic(
                device, address, ca, discovery, label, notes.skip, notes.note, on_doubt
            )
        else:
            counts = feed(
                device,
                source,
                readings=readings,
                again=again,
                strict=strict,
                wait=wait,
                csv=dialect,
                label=label,
                every=every,
                on_skip=notes.skip,
                on_note=notes.note,
                on_line=notes.line,
                on_doubt=on_doubt,
            )
        notes.end()
        where = f" --file {shlex.quote(str(file))}" if file else ""
        repeated: dict[str, object] = {"--readings": readings, "--format": format, "--every": every}
        repeated |= {"--csv": csv, "--ca": ca, "--discovery": discovery}
        _report(counts, device, safe, where, repeated)
        wanted = f"The task wants {_wanted(device.terms, readings)}."
        if counts.gave_up:
            raise InvalidInput(
                f"stopped at line {counts.lines:,} of {source_name(source)}: none of the last "
                f"{MOST_BAD:,} lines is a valid sample. {wanted}"
            )
        # With an empty standard input, the command only sends a check-in that waits.
        expected = counts.skipped or source != "-"
        if counts.found_nothing and expected and not address and not app_at and not device.ended:
            raise InvalidInput(
                f"{source_name(source)} must have at least one valid sample, found none"
                + (f", and {counts.skipped:,} that are not" if counts.skipped else "")
                + f". {wanted}"
            )
        raise typer.Exit(EXIT_CODES.get(Outcome.ENDED if device.ended else counts.outcome, 0))


def _report(
    counts: SourceCounts, device: Device, source: str, where: str, options: dict[str, object]
) -> None:
    """Print how many samples were kept, which check-ins wait, and what to do next.

    Args:
        source: What to write in a command; a secret in it is hidden.
        options: The options of this run, to be given again.
    """
    if counts.resumed_after:
        print_lines(f"went on after line {counts.resumed_after:,} of {source}")
    older = device.n_samples - counts.kept
    print_lines(
        f"{counted(counts.kept, 'sample')} kept, "
        f"{counted(counts.answered, 'check-in')} answered, "
        f"{counted(device.n_samples, 'sample')} in the buffer"
        + (f", {older:,} from before" if older > 0 else "")
        + (", a check-in waits to be sent" if device.pending else "")
    )
    if counts.taken:
        print_lines(f"{counted(counts.taken, 'sample')} more taken by another run in the meantime")
    if counts.stopped and not device.ended:
        print_lines(f"the buffer is full: the rest of {source_name(source)} is not taken yet")
    given = "".join(
        f" {name}" if value is True else f" {name} {shlex.quote(str(value))}"
        for name, value in options.items()
        if value
    )
    again = f"`crowdml device run{where}{given} --source {shlex.quote(source)}`"
    if source == "-" and not options["--format"]:
        again += " with new samples only"
    verb = "waits" if device.n_samples == 1 else "wait"
    waiting = f"{counted(device.n_samples, 'sample')} {verb} on this device"
    match counts.outcome:
        case Outcome.LIMIT:
            limits = f"crowdml device limits{where}{_wider(device)}"
            print_lines(
                f"stopped at your limit on ε: {waiting}. To go on: `{limits}`, then {again}."
            )
        case Outcome.TERMS:
            agree = f"`crowdml device agree{where}`"
            print_lines(
                f"stopped because the terms changed: {waiting}. To go on: {agree}, then {again}."
            )
        case Outcome.PAUSED:
            print_lines(f"stopped because the task is paused: {waiting}. Run again later: {again}.")
        case Outcome.WAITING:
            print_lines(
                f"stopped without the server's answer: {waiting}. Run again later: {again}."
            )
    if device.ended:
        print_lines(f"the task is over for this device: {device.ended}")
        print_lines(f"what became of it: `crowdml device result{where}`")


def _wanted(terms: Terms, readings: bool) -> str:
    if readings:
        return "lines of a time, one reading or three, and a label, and windows without gaps"
    label = f"one of {', '.join(terms.target.labels)}" if terms.target.labels else "a number"
    if terms.features.names:
        return f"the columns {', '.join(terms.features.names)}, and {label}"
    return f"lines of {terms.features.count} numbers and then {label}"


def _wider(device: Device) -> str:
    """Return the options for the lowest limits that allow the next check-in."""
    limits, cost = device.identity.limits, device.terms.loss.total
    total = device.ledger.epsilon_spent + cost
    options = ""
    if limits.per_sample < cost:
        options += f" --per-sample {cost:.12g}"
    if limits.per_device < total:
        options += f" --per-device {total:.12g}"
    return options


@app.command()
def limits(
    per_sample: PER_SAMPLE = None, per_device: PER_DEVICE = None, file: DEVICE_FILE = None
) -> None:
    """Change your limits on ε, or show them."""
    with Device(DeviceStore(find_device_file(file))) as device:
        old = device.identity.limits
        new = changed(old, per_sample, per_device)
        if new != old:
            device.set_limits(new)
    print_lines(in_words(new))


@app.command()
def agree(file: DEVICE_FILE = None, yes: YES = False) -> None:
    """Read the server's current terms, and agree to them."""
    with Device(DeviceStore(find_device_file(file))) as device:
        offer = device.current_terms()
        sent = [event.loss for event in device.ledger.events]
        ask(offer, device.identity.limits, "Agree to these terms?", yes, sent=sent)
        me = device.identity
        if excluded := device.excluded():
            again = f"`crowdml device join {me.url}/join/{me.task}`, with the same --file."
            raise DeviceError(f"{excluded} To go on: {again}")
        device.agree(offer.sha256)
    print_lines(f"agreed to the terms of {offer.terms.task}")


@app.command()
def leave(
    file: DEVICE_FILE = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the device's file with its ledger.")
    ] = False,
) -> None:
    """Leave the task, and erase its data on this machine."""
    path = find_device_file(file)
    store = DeviceStore(path)
    if store.identity is None:
        store.close()
        if not keep:
            store.remove()
        print_lines("never joined" + ("" if keep else f"; {path} is erased"))
        return
    Device(store).leave(erase=not keep)
    print_lines("left" + ("" if keep else f"; {path} is erased"))


for command in (label, show, ledger, result, moving.move, moving.repin):
    app.command()(command)
