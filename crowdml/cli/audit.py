"""crowdml audit."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from crowdml.cli.extras import needs
from crowdml.cli.options import JSON
from crowdml.cli.output import print_json
from crowdml.errors import InvalidInput

__all__ = ["audit"]


def audit(
    epsilon: Annotated[float, typer.Option(help="The claimed ε of a check-in.")] = 3.0,
    trials: Annotated[int, typer.Option(help="How often each neighbour is sanitised.")] = 20_000,
    json: JSON = False,
) -> None:
    """Attack the sanitizer on neighbouring minibatches, and compare with what it claims."""
    with needs("sim"):
        from crowdml.checks.audit import audit_sanitizer
    if not 0 < epsilon < float("inf"):
        raise InvalidInput(f"epsilon must be positive and finite, found {epsilon}.")
    if trials < 100:
        raise InvalidInput(f"trials must be at least 100, found {trials}.")
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("sanitising", total=trials)
        found = audit_sanitizer(
            epsilon, trials, progress=lambda done: progress.update(bar, completed=done)
        )
    if json:
        print_json({"parts": found.parts, "passed": found.passed})
    else:
        table = Table("what is sent", "claimed ε", "proved at least", "")
        for part, finding in found.parts.items():
            verdict = "within the claim" if finding.passed else "[bold red]BROKEN[/bold red]"
            table.add_row(part, f"{finding.claimed:g}", f"{finding.lower_bound:.3f}", verdict)
        Console().print(table)
    if not found.passed:
        raise typer.Exit(1)
