"""Define `crowdml plan`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich import box
from rich.progress import Progress
from rich.table import Column, Table

from crowdml.cli.console import Console
from crowdml.cli.extras import require_extras
from crowdml.cli.options import CSV, DELAY, JSON, SEED, SKEW, STDIN, read_text
from crowdml.cli.output import print_json, print_lines, write_file
from crowdml.cli.ranges import in_range
from crowdml.cli.task import read_named_start
from crowdml.errors import InvalidInput, InvalidTask
from crowdml.learning import StoppingRule
from crowdml.protocol import Task, TomlValue, listed, recommended_fields, set_fields
from crowdml.types import Array

if TYPE_CHECKING:
    from crowdml.simulation import Advice, PilotAdvice

MOST_OPTIONS_SHOWN = 8
TEXT_COLUMNS = ("mechanism", "for")
RECOMMENDED_MARK = "→"
EXPLAINED = {
    "b": "samples in a check-in",
    "K": "check-ins of a device",
    "nine in ten": "the error of nine runs in ten",
    "ε person": "the most that a person loses",
    "min": "minutes of a participant's time",
    "bytes": "what a device sends about its samples, in total",
}
BAD_CONSTANTS = (
    "the task's center, scale and length must bring most rows to a length near 1, found half of "
    "the rows shorter than 0.5, or columns of very different size. `crowdml task new --pilot` "
    "computes better constants."
)


def plan(
    file: Annotated[Path, typer.Argument(help="The task file, in TOML; - is standard input.")],
    devices: Annotated[int, in_range("devices", "M, the number of devices that you expect.")],
    samples: Annotated[
        int, in_range("samples", "The number of samples that each device collects.")
    ],
    data: Annotated[
        str | None,
        typer.Option(
            help="Data that resemble the crowd's: a .npz or .csv file, or a data set's name."
        ),
    ] = None,
    label: Annotated[str | None, typer.Option(help="The column with the labels.")] = None,
    person: Annotated[
        str | None, typer.Option(help="The column that names the person of each row.")
    ] = None,
    csv: CSV = None,
    difficulty: Annotated[
        str,
        typer.Option(help="Without --data: the difficulty of made-up data, easy, medium or hard."),
    ] = "medium",
    delay: DELAY = 0.0,
    skew: SKEW = None,
    spread: Annotated[
        float | None,
        in_range("sigma", "How people differ in their number of samples: a log-normal σ."),
    ] = None,
    leaving: Annotated[float, in_range("share", "The share of devices that leave early.")] = 0.0,
    target_error: Annotated[
        float | None, in_range("error", "Also estimate how many devices this error needs.")
    ] = None,
    trials: Annotated[
        int | None,
        in_range(
            "trials",
            "Repetitions, each with new randomness. By default 10, or 3 with a pilot.",
        ),
    ] = None,
    seed: SEED = 0,
    write: Annotated[
        bool, typer.Option("--write", help="Write the recommended settings into the task file.")
    ] = False,
    json: JSON = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the options into this .png, .svg or .pdf file.")
    ] = None,
) -> None:
    """Estimate before the launch what a crowd will learn at an ε, and recommend settings."""
    with require_extras("sim"):
        from crowdml.simulation import (
            ExpectedCrowd,
            PilotAdvice,
            advise,
            check_format,
            hold_out,
            load_dataset,
            load_samples,
            pilot_advice,
            save,
        )
        from crowdml.simulation.datasets import DATASET_NAMES, DIFFICULTIES
    if plot is not None:
        check_format(plot)
    if write and file == STDIN:
        raise InvalidInput("--write needs a task file to write to, found standard input.")
    if difficulty not in DIFFICULTIES:
        raise InvalidInput(f"--difficulty must be {listed(DIFFICULTIES)}, found {difficulty!r}.")
    if data is None and (label, person, csv) != (None, None, None):
        raise InvalidInput("--label, --person and --csv need --data FILE.")
    expected = ExpectedCrowd(devices, samples, delay, skew, spread, leaving)
    text = read_text(file, "task")
    task = _task(text, devices, file)
    if task.terms.promise.exact:
        raise InvalidInput(
            "a plan needs a task with privacy, found epsilon = inf. Set privacy.epsilon."
        )
    named, features = {"label": label, "person": person, "csv": csv}, task.terms.features
    own = task.start is not None or features.names or features.transforms or any(named.values())
    found = load_samples(data, task, **named) if data and own else None
    similar = hold_out(task, found) if found else load_dataset(data) if data else None
    rows = found.x if found else similar.x_train if similar else None
    if rows is not None and data not in DATASET_NAMES:
        print_lines(*(f"note: {note}" for note in _row_notes(task, rows)), err=True)
    settings: dict[str, Any] = {"target_error": target_error, "seed": seed}
    if trials is not None:
        settings["trials"] = trials
    advice: Advice
    with _progress() as progress:
        if found is not None and task.start is not None:
            advice = pilot_advice(task, expected, found, **settings, progress=progress)
        else:
            advice = advise(
                task, expected, similar, difficulty=difficulty, **settings, progress=progress
            )
    if plot is not None:
        save(advice.plot(task.title), plot)
    if task.start is not None and data is None:
        print_lines(
            "Made-up data do not fit the start, so the plan is for a crowd that starts from zero. "
            "Name the pilot with --data FILE.",
            err=True,
        )
    if json:
        print_json(advice)
    elif isinstance(advice, PilotAdvice):
        _show_pilot(advice)
    else:
        _show(advice, data or f"made-up data of {difficulty} difficulty")
    if not task.terms.private:
        why = task.terms.promise.sentences["not_private"]
        print_lines(f"WARNING: this task is NOT PRIVATE. {why}", err=True)
    for warning in filter(
        None, (task.liar_warning, task.checkins_warning, _too_few_report(task, devices))
    ):
        print_lines(f"WARNING: {warning}", err=True)
    if write:
        changed = set_fields(text, _recommended(advice, task, devices))
        _task(changed, devices, file)
        write_file(file, changed.encode())
        print_lines(f"wrote the recommended settings to {file}", err=json)


def _recommended(
    advice: "Advice | PilotAdvice", task: Task, devices: int
) -> dict[str, TomlValue | None]:
    """Return the recommended fields; with a pilot, only ε, and the batch if it is too large."""
    from crowdml.simulation import EpsilonOption

    best, limited = advice.recommended, task.terms.collection.checkins is not None
    if not isinstance(best, EpsilonOption):
        return recommended_fields(best.mechanism, best.batch, best.checkins, devices)
    return {
        "privacy.epsilon": best.epsilon,
        "collection.batch": best.batch,
        "collection.checkins": best.checkins if limited else None,
        "stop.updates": task.t_max,
    }


def _too_few_report(task: Task, devices: int) -> str | None:
    """Warn if the target error needs more devices that report than are expected.

    All reports of a device together count as one prediction, less their noise.
    """
    collection, rule = task.terms.collection, StoppingRule.of(task, task.terms.mechanism())
    if rule is None or not collection.evaluators:
        return None
    checkins = collection.checkins or 1
    reporting = devices * (1 - (1 - collection.evaluators) ** checkins)
    needed = rule.least_devices(checkins)
    if needed is not None and needed <= reporting:
        return None
    least = "more devices than a window holds" if needed is None else f"about {needed:,} devices"
    return (
        f"the target error {rule.error:g} needs reports of {least}, even if the model is never "
        f"wrong, and about {reporting:,.0f} of the {devices:,} devices will report. The task ends "
        "by stop.updates. Raise stop.error, or find more devices."
    )


def _task(text: str, devices: int, file: Path) -> Task:
    """Read the task; where its file has no number of check-ins, use the plan's number."""
    start = read_named_start(text, file)
    try:
        return Task.from_toml(text, start=start)
    except InvalidTask as error:
        if any(mistake.field != "stop.updates" for mistake in error.mistakes):
            raise
        task = Task.from_toml(set_fields(text, {"stop.updates": devices}), start=start)
        updates = devices * (task.terms.collection.checkins or 1)
        return Task.from_toml(set_fields(text, {"stop.updates": updates}), start=start)


def _row_notes(task: Task, x: Array) -> list[str]:
    """Describe what is wrong with rows after the task has scaled them."""
    from crowdml.simulation import row_notes

    features, norm = task.terms.features, task.terms.mechanism().norm
    notes = list(row_notes(features.scaled_rows(x), norm))
    if not notes or not features.transforms:
        return notes
    complete = x[~np.isnan(x).any(axis=1)]
    return list(row_notes(complete, norm) if len(complete) else ()) or [BAD_CONSTANTS]


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("simulating", total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)


def _show(advice: "Advice", source: str) -> None:
    console = Console()
    columns = [
        Column(name, justify="left" if name in TEXT_COLUMNS else "right", no_wrap=True)
        for name in advice.recommended.summary
    ]
    table = Table(Column(""), *columns, box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    shown = advice.options[:MOST_OPTIONS_SHOWN]
    rest = [] if advice.recommended in shown else [advice.recommended]
    for option in [*shown, *rest]:
        best = option == advice.recommended
        mark, style = (RECOMMENDED_MARK, "bold") if best else ("", None)
        table.add_row(mark, *option.summary.values(), style=style)
    console.print(table)
    known = advice.recommended.summary
    said = "; ".join(f"{name}: {words}" for name, words in EXPLAINED.items() if name in known)
    console.print(f"{RECOMMENDED_MARK} is recommended. {said}.")
    console.print(
        f"on {source}: guessing {advice.guess_error:.3f}, all data in one place "
        f"{advice.central_error:.3f}"
    )
    console.print(advice.sentence)
    if advice.own_sentence and advice.own != advice.recommended:
        console.print(f"With the settings in the file: {advice.own_sentence}")


def _show_pilot(advice: "PilotAdvice") -> None:
    console = Console()
    console.print(advice.sentence)
    columns = [
        Column(""),
        Column(""),
        Column("error", justify="right"),
        Column("range", justify="right"),
    ]
    table = Table(*columns, box=box.SIMPLE_HEAD)
    for name, error, spread in advice.comparison:
        best = name == f"at ε = {advice.recommended.epsilon:g}"
        mark, style = (RECOMMENDED_MARK, "bold") if best else ("", None)
        table.add_row(mark, name, error, spread, style=style)
    console.print(table)
    console.print(f"{RECOMMENDED_MARK} is recommended.")
    console.print(advice.own_sentence)
    console.print(advice.unknown)
