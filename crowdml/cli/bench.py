"""Define `crowdml bench`."""

from typing import Annotated

import typer

from crowdml.cli.extras import require_extras
from crowdml.cli.options import JSON
from crowdml.cli.output import print_json, print_lines
from crowdml.cli.ranges import in_range
from crowdml.errors import InvalidInput

app = typer.Typer(help="Measure how fast the parts are.", no_args_is_help=True)


@app.command()
def device(json: JSON = False) -> None:
    """Measure the CPU time and bytes of a device's check-in, its import time and its memory."""
    with require_extras("server"):
        from crowdml.bench import bench_device
    _print(bench_device(), json)


@app.command()
def server(
    seconds: Annotated[float, in_range("hour", "Seconds of load on each handler.")] = 5.0,
    clients: Annotated[
        int, in_range("clients", "The number of devices, each with a connection.")
    ] = 128,
    checkouts: Annotated[
        float, in_range("share", "The share of requests that are check-outs.")
    ] = 0.0,
    generators: Annotated[
        int, in_range("processes", "The number of processes that make the load.")
    ] = 1,
    database: Annotated[
        str | None,
        typer.Option(help="An empty database that may be filled. By default a new file."),
    ] = None,
    workers: Annotated[
        str,
        typer.Option(
            help="The number of the server's processes: 1, or several numbers such as 1,2,4."
        ),
    ] = "1",
    tls: Annotated[bool, typer.Option("--tls", help="Use TLS.")] = False,
    listeners: Annotated[
        int,
        in_range("listeners", "The number of event streams in a further run; 0 for no such run."),
    ] = 200,
    json: JSON = False,
) -> None:
    """Measure durable authenticated check-ins per second, beside an empty handler."""
    with require_extras("server"):
        from crowdml.bench import MECHANISMS, LoadSettings, bench_server
    if not seconds or checkouts == 1 or generators > clients:
        raise InvalidInput(
            "--seconds must be above 0, --checkouts below 1 and --generators at most --clients, "
            f"found {seconds}, {checkouts} and {generators} with {clients} clients."
        )
    crowd = LoadSettings(seconds, clients, checkouts, generators, listeners)
    results = bench_server(crowd, database, _counts(workers), tls)
    if json:
        print_json(results)
        return
    for each in results.get("settings", [results]):
        for mechanism in MECHANISMS:
            print_lines(mechanism)
            _print(each[mechanism], json)


@app.command()
def portal(
    tasks: Annotated[int, in_range("tasks", "The number of tasks in the store.")] = 10_000,
    checkins: Annotated[
        int, in_range("samples of all", "The number of check-ins of one of them.")
    ] = 1_000_000,
    json: JSON = False,
) -> None:
    """Measure the milliseconds of each page with a full store, beside a nearly empty one."""
    with require_extras("server"):
        from crowdml.bench import bench_portal
    _print(bench_portal(tasks, checkins), json)


@app.command()
def simulator(
    samples: Annotated[
        int, in_range("samples of all", "The number of synthetic samples.")
    ] = 200_000,
    rounds: Annotated[int, in_range("rounds", "The number of runs of each program.")] = 9,
    million: Annotated[
        bool, typer.Option(help="Measure the time and memory of a million devices.")
    ] = False,
    json: JSON = False,
) -> None:
    """Measure check-ins per second on one core, beside NumPy and a C program (needs gcc)."""
    with require_extras("sim"):
        from crowdml.bench import bench_million, bench_simulator, table
    if million:
        _print(bench_million(), json)
        return
    results = bench_simulator(samples, rounds)
    if None in results["seconds_over_c"].values():
        print_lines(
            "there is no comparison with C: it needs gcc and a clone of the repository.", err=True
        )
    if json:
        print_json(results)
    else:
        print_lines(*table(results).splitlines())


def _counts(text: str) -> list[int]:
    """Read the numbers of workers, which commas separate."""
    counts = [int(part) if part.isdecimal() else 0 for part in text.split(",")]
    if not all(1 <= count <= 64 for count in counts):
        raise InvalidInput(f"--workers must be numbers in 1 … 64, such as 1,2,4, found {text!r}.")
    return counts


def _print(results: dict[str, float], json: bool) -> None:
    if json:
        print_json(results)
        return
    for name, value in results.items():
        print_lines(f"{name:>22}  {value:,.3g}" if value < 1000 else f"{name:>22}  {value:,.0f}")
