"""Define `crowdml device run --format`: read a sensor app's messages until it is stopped."""

import hashlib
import io
import socket
import ssl
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import typer

from crowdml.cli.device.label import describe_label
from crowdml.cli.device.run_notes import asked_to_stop, run_topic
from crowdml.cli.extras import require_extras
from crowdml.cli.output import print_lines
from crowdml.device import Device, DeviceStore, SourceCounts, set_label
from crowdml.device.sources import (
    APP_FORMATS,
    Intake,
    ListenAddress,
    Listener,
    LiveSource,
    PhoneAddress,
    PhyphoxPhone,
    Pipe,
    TopicAddress,
    read_address,
    read_listen_address,
    read_phone_address,
    run_live,
)
from crowdml.errors import InvalidSample

KINDS = {"http": "http", "https": "http", "mqtt": "mqtt", "mqtts": "mqtt", "phyphox": "phyphox"}


@dataclass(frozen=True)
class AppSource:
    """Name where the messages of a sensor app come from; no address means standard input."""

    format: str
    address: ListenAddress | PhoneAddress | TopicAddress | None


def read_source_of_app(source: str, format: str | None) -> AppSource | None:
    """Parse `--source` and `--format`; None if the source has samples or recorded readings."""
    scheme = source.partition("://")[0] if "://" in source else ""
    if format is None:
        if KINDS.get(scheme, "mqtt") != "mqtt":
            raise typer.BadParameter(f"{scheme}:// needs --format, such as sensor-logger.")
        return None
    if format not in APP_FORMATS:
        raise typer.BadParameter(f"--format must be one of {', '.join(APP_FORMATS)}.")
    kind = "-" if source == "-" else KINDS.get(scheme, "")
    if kind not in APP_FORMATS[format].sources:
        known = {"-": "-", "http": "http://HOST:PORT", "mqtt": "mqtt://HOST/TOPIC"}
        fitting = [known.get(name, "phyphox://HOST:8080") for name in APP_FORMATS[format].sources]
        raise typer.BadParameter(
            f"--format {format} needs --source {' or '.join(sorted(fitting))}."
        )
    if kind == "-":
        return AppSource(format, None)
    if kind == "mqtt":
        return AppSource(format, read_address(source))
    read = read_listen_address if kind == "http" else read_phone_address
    return AppSource(format, read(source))


def run_app(
    device: Device,
    file: Path,
    source: AppSource,
    label: str | None,
    every: float | None,
    authorities: Path | None,
    discovery: bool,
    wait: float,
    on_skip: Callable[[InvalidSample], None],
    on_doubt: Callable[[str], bool],
) -> SourceCounts:
    """Read a sensor app's messages until Ctrl-C, SIGTERM, or the end of the task or the pipe."""
    with closing(DeviceStore(file)) as store:
        intake = Intake(store, source.format, every, on_skip=on_skip)
        if label is not None:
            set_label(store, label, intake.clock())
        address = source.address
        if isinstance(address, TopicAddress):
            print_lines(describe_label(intake.label))
            return run_topic(
                device,
                address,
                authorities,
                discovery,
                None,
                on_skip,
                print_lines,
                on_doubt,
                intake,
            )
        with asked_to_stop() as stop:
            opened = _open(device, file, address, intake, on_skip)
            print_lines(describe_label(intake.label))
            return run_live(device, intake, opened, stop.is_set, wait, on_doubt)


def _open(
    device: Device,
    file: Path,
    address: ListenAddress | PhoneAddress | None,
    intake: Intake,
    on_skip: Callable[[InvalidSample], None],
) -> LiveSource:
    if address is None:
        return Pipe(sys.stdin.readline, intake, on_skip)
    if isinstance(address, PhoneAddress):
        print_lines(f"asking phyphox at {address.host}:{address.port}")
        return PhyphoxPhone(address.host, address.port, intake, on_skip=on_skip)
    if not address.guarded and not address.is_loopback:
        # The person types the path into the app, so it must stay the same after each start. It is
        # secret.
        secret = f"{device.identity.token}\nsource".encode()
        address = replace(address, path=hashlib.sha256(secret).hexdigest()[:20])
    listener = Listener(address, intake, _tls(file.parent, address), on_skip)
    # A machine may get its address after the start, and another one later.
    listener.url = partial(_url, address, listener.port)
    _show(listener.url())
    return listener


def _tls(folder: Path, address: ListenAddress) -> ssl.SSLContext | None:
    if not address.secure:
        return None
    with require_extras("listen"):
        from crowdml.certificate import certificate_fingerprint, self_signed
    certificate, key = self_signed(folder, _host_for_others(address.host))
    print_lines(f"certificate: SHA-256 {certificate_fingerprint(certificate)}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def _url(address: ListenAddress, port: int) -> str:
    """Return the address to type into the app."""
    host = _host_for_others(address.host)
    host = f"[{host}]" if ":" in host else host
    return f"{address.scheme}://{host}:{port}/{address.path}"


def _show(url: str) -> None:
    """Print the address to type into the app, and draw it for a phone's camera if possible."""
    print_lines(f"listening; address for the app: {url}")
    with suppress(ModuleNotFoundError):
        if sys.stdout.isatty():
            import segno

            drawn = io.StringIO()
            segno.make(url, error="l").terminal(drawn, compact=True)
            sys.stdout.write(drawn.getvalue())


def _host_for_others(host: str) -> str:
    """Return the address by which others reach this machine if it listens on all addresses."""
    if host not in ("0.0.0.0", "::"):  # noqa: S104
        return host
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # a UDP `connect` sends nothing: it only chooses a route
        return str(probe.getsockname()[0])
    return socket.gethostname()
