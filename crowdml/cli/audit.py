"""Define `crowdml audit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.progress import Progress
from rich.table import Table

from crowdml.cli.console import Console
from crowdml.cli.extras import require_extras
from crowdml.cli.options import JSON
from crowdml.cli.output import print_json
from crowdml.cli.ranges import in_range
from crowdml.errors import CrowdmlError, InvalidInput
from crowdml.protocol import MECHANISMS, USUAL_MECHANISM, listed

if TYPE_CHECKING:
    from crowdml.checks import AuditedProgram, Finding


def audit(
    mechanism: Annotated[
        str, typer.Option(help=f"The mechanism: {listed(MECHANISMS)}.")
    ] = USUAL_MECHANISM,
    epsilon: Annotated[float, in_range("finite epsilon", "The claimed ε of a check-in.")] = 4.0,
    trials: Annotated[
        int | None,
        in_range(
            "trials",
            "The number of check-ins that are drawn for each pair of data sets. The default is "
            "enough to find a device that hides nothing, up to ε = 10.",
        ),
    ] = None,
    language: Annotated[
        Literal["python", "javascript", "one-file"],
        typer.Option(
            help="The device to audit: python, javascript (the browser's; needs node) or one-file "
            "(device.py)."
        ),
    ] = "python",
    plot: Annotated[
        Path | None, typer.Option(help="Draw the bounds into this .png, .svg or .pdf file.")
    ] = None,
    json: JSON = False,
) -> None:
    """Try to tell two data sets apart by what a device sends, and compare with the claimed ε."""
    with require_extras("sim"):
        from crowdml.checks import JavaScriptProgram, OneFileProgram, audit_mechanism, draw_audit
        from crowdml.simulation import check_format, save
    if plot is not None:
        check_format(plot)
    if not epsilon:
        raise InvalidInput("--epsilon must be above 0, found 0.")
    if trials is not None and trials < 100:
        raise InvalidInput(f"--trials must be at least 100, found {trials}.")
    programs: dict[str, AuditedProgram] = {
        "javascript": JavaScriptProgram(),
        "one-file": OneFileProgram(),
    }
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("checking in", total=1.0)
        found = audit_mechanism(
            mechanism,
            epsilon,
            trials,
            programs.get(language),
            lambda share: progress.update(bar, completed=share),
        )
    if plot is not None:
        save(draw_audit(found, f"{mechanism} in {language}, audited"), plot)
    if json:
        print_json(
            {
                "mechanism": mechanism,
                "language": language,
                "delta": found.delta,
                "parts": found.parts,
                "false_alarm": found.false_alarm,
                "undecided": [part for part, each in found.parts.items() if each.undecided],
                "passed": found.passed,
            }
        )
    else:
        claimed = f"claimed ε at δ = {found.delta:g}" if found.delta else "claimed ε"
        table = Table("what is sent", claimed, "proved at least", "")
        for part, finding in found.parts.items():
            claimed, proved = f"{finding.claimed:g}", f"{finding.lower_bound:.3f}"
            table.add_row(part, claimed, proved, _verdict(finding))
        Console().print(table)
        Console().print(
            f"The probability that a correct device is called broken is at most "
            f"{found.false_alarm:g}, for all parts together."
        )
    if not (found.passed or found.broken):
        raise CrowdmlError(
            f"undecided: the claim can be tested with at least {found.needed} trials, found fewer. "
            f"Use --trials {found.needed} or more."
        )
    if not found.passed:
        raise typer.Exit(1)


def _verdict(finding: "Finding") -> str:
    if finding.broken:
        return "[bold red]BROKEN[/bold red]"
    if finding.undecided:
        return f"undecided: needs {finding.needed:,} trials"
    return "within the claim"
