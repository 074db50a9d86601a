"""Define `crowdml task new`: a task file to start from, empty or filled in by a pilot."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from crowdml.cli.extras import require_extras
from crowdml.cli.options import CSV, DELAY, JSON, SKEW, STDIN
from crowdml.cli.output import print_json, print_lines
from crowdml.cli.ranges import in_range
from crowdml.cli.task.template import TASK_TEMPLATE
from crowdml.errors import InvalidInput
from crowdml.protocol import check_name


def new(
    name: Annotated[str, typer.Argument(help="The task's name.")] = "my-task",
    pilot: Annotated[
        Path | None,
        typer.Option(
            help="Samples that you may use openly, a .csv, .jsonl or .npz file; - is stdin."
        ),
    ] = None,
    label: Annotated[str | None, typer.Option(help="The pilot's column with the labels.")] = None,
    person: Annotated[
        str | None, typer.Option(help="The pilot's column that names the person of each row.")
    ] = None,
    csv: CSV = None,
    devices: Annotated[
        int | None, in_range("devices", "M, the number of devices that you expect.")
    ] = None,
    samples: Annotated[
        int | None, in_range("samples", "The number of samples that each device collects.")
    ] = None,
    leaving: Annotated[float, in_range("share", "The share of devices that leave early.")] = 0.0,
    delay: DELAY = 0.0,
    skew: SKEW = None,
    out: Annotated[Path | None, typer.Option(help="The task file to write.")] = None,
    json: JSON = False,
) -> None:
    """Print a task file to start from, or write one that a pilot has filled in."""
    _require_name(name)
    if pilot is None:
        if (label, person, csv, devices, samples) != (None,) * 5 or json:
            raise InvalidInput(
                "--label, --person, --csv, --devices, --samples and --json need --pilot FILE."
            )
        text = TASK_TEMPLATE.format(name=name)
        if out is None:
            print_lines(*text.splitlines())
        else:
            _write_new({out: text.encode()})
        return
    if out is None and not json:
        raise InvalidInput(f"--pilot needs a file to write, found none. Use --out {name}.toml.")
    if devices is None and (leaving, delay, skew) != (0.0, 0.0, None):
        raise InvalidInput(
            "--leaving, --delay and --skew need --devices and --samples, found neither."
        )
    if (devices is None) != (samples is None):
        raise InvalidInput(
            "--devices and --samples must be given together, found only one of them."
        )
    from crowdml.learnt import write_start
    from crowdml.pilot import draft_task

    if out is not None:
        _check_free(out, out.with_name(f"{name}.start.npz"))
    data, advice = _read(pilot), None
    file = "the pilot" if pilot == STDIN else str(pilot)
    try:
        draft = draft_task(
            name, data, file, label=label, person=person, csv=csv, devices=devices, samples=samples
        )
    except InvalidInput as error:
        if json:
            print_json({"wrong": error.phrase.document})
        raise
    if devices is not None and samples is not None:
        with require_extras("sim"):
            from crowdml.pilot import read_pilot, read_samples
            from crowdml.simulation import ExpectedCrowd, pilot_advice
        rows = read_samples(read_pilot(data, file, csv), draft.task.terms, label, person)
        skew = skew if draft.task.terms.n_classes else None
        crowd = ExpectedCrowd(devices, samples, delay, skew, leaving=leaving)
        advice = pilot_advice(draft.task, crowd, rows)
        draft = draft.with_epsilon(advice.recommended.epsilon, *advice.comment)
    if out is not None:
        start = out.with_name(draft.start_file)
        _write_new({start: write_start(draft.start), out: draft.text.encode()})
    if json:
        print_json(
            {
                "task": draft.text,
                "start": write_start(draft.start),
                "findings": [each.document for each in draft.findings],
                "plan": advice,
            }
        )
        return
    print_lines(*draft.findings, *(draft.epsilon_words if devices else ()), draft.reveals)
    print_lines(
        f"wrote {out} and {start}. Replace the sentences that begin with Say, then run: "
        f"crowdml task create {out}"
    )


def _require_name(name: str) -> None:
    try:
        check_name(name)
    except InvalidInput as error:
        raise InvalidInput(
            "a task's name must be 1 to 63 lower-case letters, digits and hyphens, with no hyphen "
            f"first, found {name!r}."
        ) from error


def _read(pilot: Path) -> bytes:
    from crowdml.pilot import MOST_BYTES, check_size

    try:
        if pilot != STDIN:
            check_size(pilot.stat().st_size, str(pilot), MOST_BYTES)
        with sys.stdin.buffer if pilot == STDIN else pilot.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
        check_size(len(data), str(pilot), MOST_BYTES)
        return data
    except OSError as error:
        raise InvalidInput(f"cannot read the pilot {pilot}: {error.strerror}.") from error


def _check_free(*files: Path) -> None:
    for file in files:
        if file.exists():
            raise InvalidInput(
                f"the file {file} must be new, found an old one. Move it, or use another --out."
            )


def _write_new(files: dict[Path, bytes]) -> None:
    """Write all of these files, or none."""
    _check_free(*files)
    written: list[Path] = []
    try:
        for file, data in files.items():
            with file.open("xb") as opened:
                written.append(file)
                opened.write(data)
    except OSError as error:
        for each in written:
            each.unlink()
        raise InvalidInput(f"cannot write {file}: {error.strerror}.") from error
