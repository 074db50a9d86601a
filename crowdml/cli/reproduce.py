"""Define `crowdml reproduce`."""

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from crowdml.cli.console import Console
from crowdml.cli.extras import require_extras
from crowdml.cli.options import JSON, SEED
from crowdml.cli.output import print_json
from crowdml.cli.ranges import in_range


def reproduce(
    figures: Annotated[
        list[str], typer.Argument(help="One or more of fig3 … fig9, analysis and beyond, or all.")
    ],
    trials: Annotated[int, in_range("trials", "The number of repetitions of each curve.")] = 10,
    out: Annotated[Path, typer.Option(help="The folder for the report and its data.")] = Path(
        "crowdml-reproduction"
    ),
    seed: SEED = 0,
    json: JSON = False,
) -> None:
    """Reproduce the paper's figures beside its own values, in one HTML report."""
    with require_extras("sim"):
        from crowdml.reproduction import reproduce as run
        from crowdml.reproduction import write_report
    started = perf_counter()
    columns = (
        TextColumn("{task.description:18}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("reading data", total=1.0)
        found = run(
            figures,
            trials=trials,
            seed=seed,
            progress=lambda name, share: progress.update(bar, description=name, completed=share),
        )
    report = write_report(found, out)
    if json:
        print_json(found.summary())
        return
    console = Console(markup=True)
    for name, curves in found.summary().items():
        table = Table(name, "ours", "paper")
        for key, errors in curves.items():
            paper = "–" if errors["paper"] is None else f"{errors['paper']:.4g}"
            table.add_row(key, f"{errors['ours']:.4g}", paper)
        console.print(table)
    for claim in found.claims:
        verdict = "[green]holds[/green]" if claim.holds else "[yellow]does not hold[/yellow]"
        console.print(f"{claim.figure}: {claim.text}: {verdict} ({claim.numbers})")
    seconds = perf_counter() - started
    console.print(f"{trials} trials in {seconds:.0f} s; open {report}")
