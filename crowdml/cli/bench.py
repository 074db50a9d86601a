"""crowdml bench."""

from typing import Annotated

import msgspec
import typer

from crowdml.cli.extras import needs

__all__ = ["app"]

app = typer.Typer(help="Measure the parts.", no_args_is_help=True)
JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command()
def device(json: JSON = False) -> None:
    """CPU and bytes of a check-in on a device, import time, memory."""
    with needs("server"):
        from crowdml.bench.device import bench_device
    _print(bench_device(), json)


@app.command()
def server(
    seconds: Annotated[float, typer.Option(help="How long to load each handler.")] = 5.0,
    clients: Annotated[int, typer.Option(help="Keep-alive connections.")] = 128,
    json: JSON = False,
) -> None:
    """Durable authenticated check-ins a second, beside an empty handler."""
    with needs("server"):
        from crowdml.bench.server import bench_server
    _print(bench_server(seconds, clients), json)


def _print(figures: dict[str, float], json: bool) -> None:
    if json:
        print(msgspec.json.encode(figures).decode())
        return
    for name, value in figures.items():
        print(f"{name:>22}  {value:,.3g}" if value < 1000 else f"{name:>22}  {value:,.0f}")
