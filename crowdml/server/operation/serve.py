"""Run the server: equal processes with an event loop each, and TLS beyond loopback."""

import asyncio
import resource
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from starlette.applications import Starlette

from crowdml.certificate import (
    certificate_fingerprint,
    is_self_signed,
    require_pair,
    self_signed,
)
from crowdml.errors import CrowdmlError, InvalidInput
from crowdml.server.database import Store
from crowdml.server.http import PublicAddress, create_app, is_loopback
from crowdml.server.operation.connection_limit import ConnectionLimit
from crowdml.server.operation.logs import Announce, make_announcer, start_logging
from crowdml.server.operation.workers import run_workers
from crowdml.server.settings import Settings

T = TypeVar("T")
END_SIGNALS = (signal.SIGTERM, signal.SIGINT)
OWN_FILES = 128
"""Open files of the server that are not connections."""

MakeApp: TypeAlias = Callable[[Settings, PublicAddress], Starlette]
"""Make an app from the settings and the public address."""

SWITCH_SECONDS = 0.0005
"""Seconds for which one thread may keep the others from running: the thread that holds a task's
lock must not wait for long behind the one that reads requests."""


@dataclass(frozen=True)
class BindAddress:
    """Name where to listen, and with which certificate.

    Args:
        tls: `self-signed`, `CERT,KEY` with two file names, or None for plain HTTP.
        insecure_http: Allow plain HTTP to other machines.
        public_address: What people and devices see of the server from outside.
    """

    host: str = "127.0.0.1"
    port: int = 8443
    tls: str | None = None
    insecure_http: bool = False
    public_address: PublicAddress = field(default_factory=PublicAddress)

    def __post_init__(self) -> None:
        if not 1 <= self.port <= 65535:
            raise InvalidInput(f"port must lie in 1 … 65535, found {self.port}.")
        if self.tls is None and not (self.insecure_http or is_loopback(self.host)):
            raise InvalidInput(
                f"plain HTTP is for loopback only, found host {self.host}. Use --tls self-signed, "
                "or --tls CERT,KEY, or --insecure-http if a proxy adds TLS."
            )

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    def certificate(self, folder: Path) -> tuple[Path, Path] | None:
        if self.tls is None:
            return None
        if self.tls == "self-signed":
            return self_signed(folder, self.host)
        certificate, comma, key = self.tls.partition(",")
        if not comma:
            raise InvalidInput(f"tls must be self-signed or CERT,KEY, found {self.tls!r}.")
        for file in (certificate, key):
            if not Path(file).is_file():
                raise InvalidInput(f"tls needs two readable files, found no file {file!r}.")
        return Path(certificate), Path(key)


def serve(
    settings: Settings, address: BindAddress, make_app: MakeApp = create_app, workers: int = 1
) -> None:
    """Serve until SIGTERM or SIGINT."""
    start_logging(settings.log_format)
    announce = make_announcer(settings.log_format)
    _check_free(address)
    files = address.certificate(settings.folder)
    fingerprint = certificate_fingerprint(files[0]) if files else None
    if files:
        require_pair(*files)
    if fingerprint:
        announce(f"certificate fingerprint (SHA-256): {fingerprint}")
    # Behind a proxy, people see the proxy's certificate.
    if files and is_self_signed(files[0]) and not address.public_address.proxies:
        public_address = replace(address.public_address, fingerprint=fingerprint)
        address = replace(address, public_address=public_address)
    work = partial(serve_here, settings, address, files, make_app)
    if workers == 1:
        work(announce)
    else:
        # The tables are made once, before several processes start.
        Store(settings.database).close()
        run_workers(work, workers, announce)
        announce(f"{workers} workers ended")


def serve_here(
    settings: Settings,
    address: BindAddress,
    files: tuple[Path, Path] | None,
    make_app: MakeApp,
    announce: Announce,
) -> None:
    """Serve in this process; the system spreads connections over processes with one address."""
    start_logging(settings.log_format)
    sys.setswitchinterval(SWITCH_SECONDS)
    run_loop(_run(make_app(settings, address.public_address), address, files, announce))


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine as `asyncio.run` does, on the faster loop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


async def _run(
    app: Starlette, address: BindAddress, files: tuple[Path, Path] | None, announce: Announce
) -> None:
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.server.embed import Server

    settings: Settings = app.state.settings
    connections = _connections(settings.most_connections)
    loop, ending = asyncio.get_running_loop(), asyncio.Event()
    for number in END_SIGNALS:
        loop.add_signal_handler(number, ending.set)
    async with app.router.lifespan_context(app):
        if ending.is_set():
            return
        server = Server(
            app,
            address=address.host,
            port=address.port,
            interface=Interfaces.ASGINL,
            # With HTTP/2 offered, the server would wait for the first byte without a limit.
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(header_read_timeout=int(1000 * settings.head_seconds)),
            websockets=False,
            backlog=connections,
            backpressure=connections,
            log_enabled=False,
            ssl_cert=files[0] if files else None,
            ssl_key=files[1] if files else None,
        )

        serving = asyncio.create_task(server.serve())

        def end() -> None:
            app.state.service.close()
            server.stop()
            # A client may read an answer slowly, or not at all.
            loop.call_later(settings.stop_seconds, serving.cancel)

        for number in END_SIGNALS:
            loop.add_signal_handler(number, end)
        most = min(settings.most_connections_per_address, connections // 2)
        limited = ConnectionLimit(address.port, most, address.public_address.trusts)
        others = [
            asyncio.create_task(_announce_when_open(address, announce)),
            asyncio.create_task(limited.watch()),
        ]
        await asyncio.wait([serving])
        for task in others:
            task.cancel()
        if not serving.cancelled():
            serving.result()


def _connections(wanted: int) -> int:
    """Return the most connections: the setting, or less where the system has too few open files."""
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = wanted + OWN_FILES
    if least != resource.RLIM_INFINITY and least < files:
        least = files if most == resource.RLIM_INFINITY else min(files, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (least, most))
        return max(least - OWN_FILES, OWN_FILES)
    return wanted


def _check_free(address: BindAddress) -> None:
    """Raise if another server uses the address: Granian would silently share its port."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address.host, address.port))
    except OSError as error:
        raise CrowdmlError(
            f"cannot listen on {address.url}: {error.strerror}. Choose another --port or --host."
        ) from error


async def _announce_when_open(address: BindAddress, announce: Announce) -> None:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address.host, address.host)  # noqa: S104
    here = replace(address, host=host).url
    everywhere = f" (all addresses of this machine; here {here})" if host != address.host else ""
    while True:
        try:
            _, writer = await asyncio.open_connection(host, address.port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            url = address.public_address.url
            known_as = f", known as {url}" if url else ""
            announce(f"listening on {address.url}{everywhere}{known_as}")
            return
