"""Test the way to the server: conformance, trust, and answers that no honest server gives."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from crowdml.certificate import certificate_fingerprint, self_signed
from crowdml.checks.transports import check_transport
from crowdml.demo import free_port
from crowdml.device import Device, HttpTransport, Outcome, RetryTimer, describe_contribution
from crowdml.errors import InvalidInput, Unreachable, Untrusted
from crowdml.privacy import Limits
from crowdml.protocol import Enrol
from tests.support.servers import PATIENCE, Portal, Start, create, make_task

X = [0.1, 0.2, 0.3, 0.4]


# Conformance


def test_conformance_over_plain_loopback(start: Start) -> None:
    server = start(make_task())
    check_transport(HttpTransport(server.url, "activity"))


def test_conformance_over_tls(start: Start) -> None:
    server = start(make_task(collection__heldout=0.4), tls="self-signed")
    certificate = (server.folder / "crowdml-cert.pem").read_text()
    check_transport(HttpTransport(server.url, "activity", certificate))


def test_an_unchanged_model_is_not_downloaded_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start(make_task())
    statuses: list[int] = []
    exchange = HttpTransport._exchange

    def recording(self: HttpTransport, *arguments: Any) -> Any:
        answer = exchange(self, *arguments)
        statuses.append(answer[0])
        return answer

    monkeypatch.setattr(HttpTransport, "_exchange", recording)
    with closing(HttpTransport(server.url, "activity")) as transport:
        token = transport.enrol(Enrol(transport.task().terms_sha256)).token
        first = transport.checkout(token)
        assert transport.checkout(token) == first
    assert statuses == [200, 201, 200, 304]


def test_a_server_without_pages_has_no_table_of_errors(start: Start) -> None:
    with closing(HttpTransport(start(make_task()).url, "activity")) as transport:
        assert transport.errors() == []


def test_the_errors_of_a_real_server(tmp_path: Path) -> None:
    """Read the portal's table after 160 check-ins of eight devices.

    A public rule lets every second check-in evaluate the model, and what it sends is nearly
    always true at this ε. The table is empty by chance in fewer than one of 1e9 runs.
    """
    task = make_task(
        privacy__mechanism="direction", privacy__epsilon=400.0, collection__checkins=20,
        collection__evaluators=0.5, collection__batch=3, collection__buffer=3,
    )  # fmt: skip
    labels = task.terms.target.labels
    options: dict[str, Any] = {"accept_no_privacy": True, "limits": Limits(1e6, 1e6)}
    server = Portal(tmp_path / "server")
    server.folder.mkdir()
    create(server.database, task)
    with ExitStack() as stack:
        stack.callback(server.kill)
        server.start()
        transport = stack.enter_context(closing(HttpTransport(server.url, "activity")))
        assert transport.errors() == [], "nothing was evaluated yet"
        devices = [
            stack.enter_context(
                Device.join(
                    server.url, "activity", file=tmp_path / str(n) / "device",
                    retry_timer=RetryTimer(slot=0.0), **options,
                )
            )
            for n in range(8)
        ]  # fmt: skip
        for k in range(3 * 20):
            for device in devices:
                device.add([float(k % 3 == j) for j in range(4)], labels[k % 3])
        assert [device.n_answered for device in devices] == [20] * 8
        now, errors = transport.statistics(), transport.errors()
        with closing(HttpTransport(server.url, "elsewhere")) as other:
            assert other.errors() == [], "the portal has no such task"
    assert now.error
    versions = [each.version for each in errors]
    assert len(versions) > 1
    assert versions == sorted(set(versions))
    assert 0 < versions[0] < versions[-1] <= now.version == 160
    assert all(-0.1 <= each.value <= 1.1 and each.margin > 0 for each in errors)
    first, second = map(str, describe_contribution([1, 2], now, errors))
    assert first == "2 of 160 check-ins so far were yours, the first was number 1."
    assert second.startswith(("Now ", "Since then ", "When you checked in, "))


def test_a_closed_connection_is_opened_again(start: Start) -> None:
    server = start(make_task())
    with closing(HttpTransport(server.url, "activity")) as transport:
        token = transport.enrol(Enrol(transport.task().terms_sha256)).token
        server.kill()
        with pytest.raises(Unreachable):
            transport.checkout(token)
        server.start()
        assert transport.checkout(token).checkout.version == 0


def test_nobody_there() -> None:
    with (
        closing(HttpTransport(f"http://127.0.0.1:{free_port()}", "activity")) as transport,
        pytest.raises(Unreachable, match="refused"),
    ):
        transport.task()


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1", "127.0.0.1:80", "https://", "", "http://10.0.0.1:80",
            "http://example.org", "http://127.0.0.1.example.org"],
)  # fmt: skip
def test_an_address_that_is_not_safe_is_rejected(url: str) -> None:
    with pytest.raises(InvalidInput, match="found"):
        HttpTransport(url, "activity")


def test_plain_http_beyond_loopback_must_be_asked_for() -> None:
    HttpTransport("http://10.0.0.1:80", "activity", insecure_http=True).close()


# Trust


class Eavesdropper:
    """Serve TLS, and write down what a client sends after the handshake."""

    def __init__(self, folder: Path) -> None:
        certificate, key = self_signed(folder, "localhost")
        self.fingerprint = certificate_fingerprint(certificate)
        self.received = bytearray()
        self.handshakes = 0
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.05)
        self.port: int = self._listener.getsockname()[1]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def __enter__(self) -> "Eavesdropper":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        self._listener.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            with suppress(OSError):
                plain, _ = self._listener.accept()
                with closing(plain):
                    plain.settimeout(1.0)
                    self._listen(plain)

    def _listen(self, plain: socket.socket) -> None:
        with closing(self._context.wrap_socket(plain, server_side=True)) as secured:
            self.handshakes += 1
            while data := secured.recv(4096):
                self.received += data


@pytest.fixture
def eavesdropper(tmp_path: Path) -> Iterator[Eavesdropper]:
    with Eavesdropper(tmp_path / "eavesdropper") as server:
        yield server


def settle(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.mark.parametrize("right", [True, False])
def test_a_fingerprint_is_pinned(start: Start, tmp_path: Path, right: bool) -> None:
    server = start(make_task(), tls="self-signed")
    fingerprint = server.fingerprint if right else "0" * 64
    file = tmp_path / "device"
    if not right:
        with pytest.raises(Untrusted, match=f"fingerprint {'0' * 64}, found {server.fingerprint}"):
            Device.join(server.url, "activity", file=file, fingerprint=fingerprint)
        return
    spaced = ":".join(fingerprint[i : i + 2] for i in range(0, 64, 2)).upper()
    with Device.join(server.url, "activity", file=file, fingerprint=spaced) as device:
        assert [device.add(X, "still") for _ in range(3)][-1] is Outcome.CHECKED_IN
    with Device.join(server.url, "activity", file=file) as device:
        assert [device.add(X, "still") for _ in range(3)][-1] is Outcome.CHECKED_IN, "still pinned"


def test_an_impostor_is_told_nothing(eavesdropper: Eavesdropper, tmp_path: Path) -> None:
    with pytest.raises(Untrusted, match="do not go on"):
        Device.join(
            eavesdropper.url, "activity", file=tmp_path / "device", fingerprint="0" * 64
        )  # fmt: skip
    settle(lambda: eavesdropper.handshakes == 1)
    assert eavesdropper.handshakes == 1, "otherwise nothing could have been overheard anyway"
    assert eavesdropper.received == b""


def test_a_self_signed_certificate_needs_a_pin(eavesdropper: Eavesdropper, tmp_path: Path) -> None:
    with pytest.raises(Untrusted, match="Pin a self-signed one"):
        Device.join(eavesdropper.url, "activity", file=tmp_path / "device")
    assert eavesdropper.received == b""


def test_a_certificate_that_changes_after_joining(
    eavesdropper: Eavesdropper, start: Start, tmp_path: Path
) -> None:
    """Let someone take over the address: no token, no check-in, no ε."""
    server = start(make_task(), tls="self-signed")
    file = tmp_path / "device"
    with Device.join(server.url, "activity", file=file, fingerprint=server.fingerprint) as device:
        pinned = device.identity.certificate
        impostor = HttpTransport(eavesdropper.url, "activity", pinned)
        device._membership.transport.close()
        device._membership.transport = impostor
        for _ in range(2):
            device.add(X, "still")
        with pytest.raises(Untrusted):
            device.add(X, "still")
        assert (device.n_samples, device.ledger.events) == (3, ())
        assert eavesdropper.received == b""


def test_a_fingerprint_that_is_none(tmp_path: Path) -> None:
    """Check that a typing error is not reported as an attack."""
    with pytest.raises(InvalidInput, match="must be 64 digits from 0 to f, found 'zz'"):
        Device.join("https://127.0.0.1:1", "activity", file=tmp_path / "it", fingerprint="zz")


def test_plain_http_to_tls(start: Start, tmp_path: Path) -> None:
    plain = start(make_task(), tls="self-signed").url.replace("https", "http")
    with pytest.raises(Unreachable, match="speaks TLS, so its address begins with https://"):
        Device.join(plain, "activity", file=tmp_path / "device")


def test_a_fingerprint_needs_tls(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="https"):
        Device.join(
            "http://127.0.0.1:1", "activity", file=tmp_path / "device", fingerprint="0" * 64
        )
