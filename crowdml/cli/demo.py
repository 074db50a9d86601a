"""crowdml demo."""

import math
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from crowdml.cli.extras import needs
from crowdml.cli.options import JSON
from crowdml.cli.output import print_json

if TYPE_CHECKING:
    from crowdml.demo import Result

__all__ = ["demo"]


def demo(
    devices: Annotated[int, typer.Option(help="How many devices take part.")] = 108,
    task: Annotated[str, typer.Option(help="activity or digits.")] = "activity",
    epsilon: Annotated[float, typer.Option(help="ε of a sample in all; inf for no noise.")] = 1.0,
    seconds: Annotated[float, typer.Option(help="How long the crowd collects.")] = 25.0,
    folder: Annotated[Path, typer.Option(help="Where everything is kept.")] = Path("crowdml-demo"),
    seed: Annotated[int, typer.Option(help="For dealing samples; noise is never seeded.")] = 0,
    json: JSON = False,
) -> None:
    """A server, its portal and a live crowd of real devices on this machine, over HTTPS."""
    with needs("server", "sim"):
        from crowdml.demo import Demo, run_demo
    console = Console(stderr=json)

    def show(result: "Result", portal: str) -> None:
        if json:
            print_json(result)
            return
        _explain(result, task, console)
        if console.is_terminal:
            _keep_open(portal, console)

    run_demo(Demo(task, epsilon, devices, seconds, folder, seed), console, show)


def _explain(result: "Result", task: str, console: Console) -> None:
    spent = result.epsilon
    where = "people who took no part" if task == "activity" else "samples that took no part"
    console.print(
        f"\n[bold]error {result.error:.3f}[/bold] on {where}; "
        f"with all data in one place it would be {result.central_error:.3f}"
    )
    console.print(
        f"{result.checkins} check-ins of {result.devices} devices used {result.samples:,} samples "
        f"in {result.seconds:.0f} s; the server saw noisy averages only"
    )
    if math.isinf(spent.per_sample):
        console.print("[bold red]no privacy: ε = ∞[/bold red]")
    else:
        console.print(
            f"privacy: each sample lost at most ε = {spent.per_sample:g}; "
            f"the busiest device spent ε = {spent.per_device_max:g} over its check-ins. "
            f"If all samples of a device were replaced at once the bound would be "
            f"ε = {spent.whole_device_max:g}: the promise is for samples, not for people."
        )
    console.print(f"model saved to {result.model}")


def _keep_open(portal: str, console: Console) -> None:
    console.print(f"\nThe portal stays open: [bold]{portal}[/bold]\nPress Ctrl-C to end.")
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
    console.print("closing")
