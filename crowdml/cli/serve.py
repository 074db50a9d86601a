"""Define `crowdml serve`."""

from typing import Annotated

import typer

from crowdml.cli.extras import require_extras
from crowdml.cli.options import DATABASE, DEFAULT_DATABASE, INSECURE_HTTP
from crowdml.cli.ranges import in_range


def serve_command(
    database: DATABASE = DEFAULT_DATABASE,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, in_range("port", "The port to listen on.")] = 8443,
    tls: Annotated[
        str | None,
        typer.Option(
            help="self-signed, or the files CERT,KEY. Without it, plain HTTP for this machine only."
        ),
    ] = None,
    workers: Annotated[
        int, in_range("processes", "The number of processes that share the work.")
    ] = 1,
    keep_payloads: Annotated[
        bool,
        typer.Option(
            "--keep-payloads",
            help="Keep the contents of all check-ins, so that anyone can recompute the model.",
        ),
    ] = False,
    public_url: Annotated[
        str | None,
        typer.Option(help="The address in links and QR codes: https://HOST, or https://HOST/PATH."),
    ] = None,
    trust_proxy: Annotated[
        str,
        typer.Option(
            metavar="NETWORKS",
            help="The addresses and networks of proxies, separated by commas, whose headers "
            "X-Forwarded-Proto, -Host and -For, or Forwarded, are trusted.",
        ),
    ] = "",
    insecure_http: INSECURE_HTTP = False,
    metrics_token: Annotated[
        str | None,
        typer.Option(
            envvar="CROWDML_METRICS_TOKEN",
            help="The token that requests for /metrics must send. Without it, only this machine "
            "may read /metrics.",
        ),
    ] = None,
    log_format: Annotated[
        str, typer.Option(help="The format of the log: text, or json with one object per line.")
    ] = "text",
) -> None:
    """Run the server until Ctrl-C."""
    with require_extras("server"):
        from crowdml.portal import create_portal_app
        from crowdml.server import BindAddress, Settings
        from crowdml.server.http import PublicAddress
        from crowdml.server.operation import serve
    address = BindAddress(host, port, tls, insecure_http, PublicAddress(public_url, trust_proxy))
    settings = Settings(
        database=database,
        keep_payloads=keep_payloads,
        metrics_token=metrics_token,
        log_format=log_format,
    )
    serve(settings, address, create_portal_app, workers)
