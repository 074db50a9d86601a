"""crowdml serve."""

from typing import Annotated

import typer

from crowdml.cli.extras import needs
from crowdml.cli.options import DATABASE, DEFAULT_DATABASE, INSECURE_HTTP
from crowdml.cli.ranges import ranged


def serve_command(
    database: DATABASE = DEFAULT_DATABASE,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, ranged("port", "The port to listen on.")] = 8443,
    tls: Annotated[
        str | None,
        typer.Option(help="self-signed, or CERT,KEY files. Without it: plain HTTP on loopback."),
    ] = None,
    workers: Annotated[int, ranged("processes", "Processes that share the work.")] = 1,
    keep_payloads: Annotated[
        bool,
        typer.Option("--keep-payloads", help="Keep what check-ins told after snapshots cover it."),
    ] = False,
    public_url: Annotated[
        str | None,
        typer.Option(help="What links and QR codes show: https://HOST, or https://HOST/PATH."),
    ] = None,
    trust_proxy: Annotated[
        str,
        typer.Option(
            metavar="NETWORKS",
            help="Addresses and networks of proxies, separated by commas, whose X-Forwarded-Proto "
            "and -Host, or Forwarded, are believed.",
        ),
    ] = "",
    insecure_http: INSECURE_HTTP = False,
    metrics_token: Annotated[
        str | None,
        typer.Option(
            envvar="CROWDML_METRICS_TOKEN",
            help="Who sends it may read /metrics. Without it: this machine alone.",
        ),
    ] = None,
    log_format: Annotated[str, typer.Option(help="text, or json for one object a line.")] = "text",
) -> None:
    """Run the server until Ctrl-C."""
    with needs("server"):
        from crowdml.portal import create_portal_app
        from crowdml.server import Address, Settings
        from crowdml.server.http import Front
        from crowdml.server.operation import serve
    address = Address(host, port, tls, insecure_http, Front(public_url, trust_proxy))
    settings = Settings(
        database=database,
        keep_payloads=keep_payloads,
        metrics_token=metrics_token,
        log_format=log_format,
    )
    serve(settings, address, create_portal_app, workers)
