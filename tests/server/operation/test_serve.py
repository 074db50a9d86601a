"""Test starting, stopping and the server's certificate."""

import os
import re
import socket
import ssl
import stat
from contextlib import closing
from pathlib import Path

import pytest

from crowdml.certificate import certificate_fingerprint, self_signed
from crowdml.errors import InvalidInput
from crowdml.server import BindAddress, Settings
from crowdml.server.throttle import Throttle
from tests.support.servers import PATIENCE, FaultyServer, Start, make_task


def test_the_certificate_is_made_once(start: Start) -> None:
    server = start(make_task(), tls="self-signed")
    key = server.folder / "crowdml-key.pem"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    first, secret = server.fingerprint, key.read_bytes()
    assert re.fullmatch("[0-9a-f]{64}", first)
    assert server.stop() == 0
    server.start()
    assert server.output.count(first) == 2
    assert key.read_bytes() == secret
    with server.connected() as wire:
        assert wire.get("/readyz").status == 200


def test_a_certificate_of_ones_own(tmp_path: Path, start: Start) -> None:
    certificate, key = self_signed(tmp_path / "mine", "localhost")
    server = start(make_task(), tls=f"{certificate},{key}")
    assert server.fingerprint == certificate_fingerprint(certificate)
    assert not (server.folder / "crowdml-key.pem").exists()


def test_the_fingerprint_of_a_chain_is_from_its_first_certificate(tmp_path: Path) -> None:
    """Check a chain: authorities send the server's certificate followed by their own."""
    second, _ = self_signed(tmp_path / "other", "localhost")
    # Base64 without padding gives a careless reader no hint of where the first one ends. At most
    # three in four certificates have some, so 200 tries fail with a probability below 1e-24.
    for i in range(200):
        first, _ = self_signed(tmp_path / str(i), "localhost")
        if len(ssl.PEM_cert_to_DER_cert(first.read_text())) % 3 == 0:
            break
    chain = tmp_path / "fullchain.pem"
    chain.write_text(first.read_text() + second.read_text())
    assert certificate_fingerprint(chain) == certificate_fingerprint(first)


def test_plain_http_talks_only_to_this_machine(start: Start) -> None:
    server = start(make_task())
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as other:
        other.settimeout(PATIENCE)
        # Another address of the loopback network: a server bound to all would answer here.
        with pytest.raises(ConnectionRefusedError):
            other.connect(("127.0.0.2", server.port))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_plain_http_beyond_loopback_must_be_asked_for(host: str) -> None:
    with pytest.raises(InvalidInput, match="plain HTTP is for loopback only"):
        BindAddress(host=host, port=8000)
    assert BindAddress(host=host, port=8000, insecure_http=True).url.startswith("http://")
    assert BindAddress(host=host, port=8000, tls="self-signed").url.startswith("https://")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_plain_http_on_loopback_is_fine(host: str) -> None:
    assert BindAddress(host=host, port=8000).tls is None


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_port_that_does_not_exist(port: int) -> None:
    with pytest.raises(InvalidInput, match=f"found {port}"):
        BindAddress(port=port)


@pytest.mark.parametrize("tls", ["yes", "cert.pem", "missing.pem,missing.key"])
def test_a_certificate_that_cannot_be_used(tls: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="tls"):
        BindAddress(tls=tls).certificate(tmp_path)


def test_no_certificate_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "cert.pem"
    file.write_text("hello")
    with pytest.raises(InvalidInput, match="must have a certificate in PEM, found none"):
        certificate_fingerprint(file)


def test_a_certificate_is_kept_beside_the_database() -> None:
    assert Settings(database="sqlite:////var/lib/crowd/x.db").folder == Path("/var/lib/crowd")
    assert Settings(database="sqlite:///x.db").folder == Path()


def test_two_servers_cannot_share_a_port(start: Start, tmp_path: Path) -> None:
    first = start(make_task())
    second = FaultyServer(tmp_path, port=first.port)
    process = second.launch()
    try:
        assert process.wait(PATIENCE / 3) != 0
    finally:
        second.kill()
    assert "cannot listen" in second.output
    with first.connected() as wire:
        assert wire.get("/v1/tasks/activity").status == 200


def test_the_key_is_never_readable_by_others(tmp_path: Path) -> None:
    """Check the mode of a new key, which must be private from the moment of its creation."""
    before = os.umask(0)
    try:
        certificate, key = self_signed(tmp_path / "new", "localhost")
    finally:
        os.umask(before)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert b"PRIVATE" not in certificate.read_bytes()


def test_a_throttle_refills_at_its_rate() -> None:
    now = [0.0]
    throttle = Throttle(per_minute=30, burst=2, clock=lambda: now[0])

    def allowed(key: str) -> bool:
        try:
            throttle.take(key)
        except Exception:
            return False
        return True

    assert [allowed("a") for _ in range(3)] == [True, True, False]
    assert allowed("b"), "one device does not use up another's share"
    now[0] = 1.9
    assert not allowed("a")
    now[0] = 2.0
    assert allowed("a")
    now[0] = 1000.0
    assert [allowed("a") for _ in range(3)] == [True, True, False], "a rest saves no more"
