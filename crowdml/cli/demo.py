"""Define `crowdml demo`."""

import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdml.cli.console import Console
from crowdml.cli.extras import require_extras
from crowdml.cli.options import JSON
from crowdml.cli.output import print_json
from crowdml.cli.ranges import in_range
from crowdml.protocol import MECHANISMS, USUAL_MECHANISM, listed

if TYPE_CHECKING:
    from crowdml.demo import DemoResult


def demo(
    devices: Annotated[int, in_range("devices", "The number of devices that take part.")] = 108,
    task: Annotated[str, typer.Option(help="The task: activity or digits.")] = "activity",
    mechanism: Annotated[
        str, typer.Option(help=f"The mechanism: {listed(MECHANISMS)}.")
    ] = USUAL_MECHANISM,
    epsilon: Annotated[
        float,
        in_range(
            "epsilon", "ε of a whole person for direction, of a sample for the other mechanisms."
        ),
    ] = 4.0,
    seconds: Annotated[
        float, in_range("hour", "Seconds for which the crowd collects samples.")
    ] = 25.0,
    folder: Annotated[Path, typer.Option(help="The folder for all files.")] = Path("crowdml-demo"),
    seed: Annotated[
        int, in_range("seed", "The seed that deals samples to devices; noise is never seeded.")
    ] = 0,
    pilot: Annotated[
        int | None,
        in_range(
            "devices",
            "The number of people in a pilot: the model starts from 60 samples of each.",
        ),
    ] = None,
    port: Annotated[
        int | None, in_range("port", "The portal's port. By default a free one.")
    ] = None,
    json: JSON = False,
) -> None:
    """Run a server, its portal and a live crowd of real devices on this machine, over HTTPS."""
    with require_extras("demo"):
        from crowdml.demo import Demo, run_demo
    kind = MECHANISMS.get(mechanism)
    if kind and kind.needs:
        with require_extras(kind.needs.extra):
            import_module(kind.needs.module)
    console = Console(stderr=json, markup=True, highlight=True)

    def show(result: "DemoResult", portal: str) -> None:
        if json:
            print_json(result)
            return
        explain(result, task, console)
        if console.is_terminal:
            _keep_open(portal, console)

    wanted = Demo(
        task=task,
        mechanism=mechanism,
        epsilon=epsilon,
        devices=devices,
        seconds=seconds,
        folder=folder,
        seed=seed,
        pilot=pilot,
        port=port,
    )
    run_demo(wanted, console, show)


def explain(result: "DemoResult", task: str, console: Console) -> None:
    where = "people who took no part" if task == "activity" else "samples that took no part"
    console.print(
        f"\n[bold]error {result.error:.3f}[/bold] on {where}; with all data in one place it would "
        f"be {result.central_error:.3f}, by guessing {result.guess_error:.3f}"
    )
    if result.pilot_error is not None:
        console.print(f"the pilot alone, where the model started, errs at {result.pilot_error:.3f}")
    worst = min(result.recall)
    if worst < 0.5:
        console.print(f"[yellow]one class is recognised in only {worst:.0%} of its cases[/yellow]")
    sent = result.checkins * result.private_bytes_per_checkin
    console.print(
        f"{result.checkins} check-ins of {result.devices} devices in {result.seconds:.0f} s sent "
        f"{sent:,} bytes about people, {result.private_bytes_per_checkin:,} each"
    )
    console.print(
        f"the promise to each participant: {result.promise}\n"
        f"spent: ε = {result.epsilon.per_person:g} by the person who lost most"
    )
    console.print(f"model saved to {result.model}")


def _keep_open(portal: str, console: Console) -> None:
    console.print(f"\nThe portal stays open: [bold]{portal}[/bold]\nPress Ctrl-C to end.")
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
    console.print("closing")
