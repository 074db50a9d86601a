"""Test what `crowdml serve` prints, and what it rejects."""

import hashlib
import json
import re
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from crowdml.certificate import self_signed
from crowdml.demo import free_port
from tests.cli.command import Command, Here
from tests.support.servers import PATIENCE, HttpClient


@contextmanager
def serving(crowdml: Command, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    process = crowdml.start("serve", *arguments)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_plain_http_on_this_machine(crowdml: Command, ending: signal.Signals) -> None:
    port = free_port()
    with serving(crowdml, "--port", port) as process:
        assert line(process) == f"listening on http://127.0.0.1:{port}"
        with closing(HttpClient(port)) as wire:
            assert wire.get("/readyz").status == 200
        assert (crowdml.folder / "crowdml.db").exists()
        process.send_signal(ending)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out) == (0, "")
        started, stopped = err.splitlines()
        assert re.fullmatch(r"INFO crowdml\.server: node \S+ started", started)
        assert stopped == started.replace("started", "stopped")


def test_a_certificate_of_its_own(crowdml: Command) -> None:
    port, database = free_port(), f"sqlite:///{crowdml.folder / 'place' / 'crowd.db'}"
    (crowdml.folder / "place").mkdir()
    with serving(
        crowdml, "--port", port, "--tls", "self-signed", "--database", database
    ) as process:
        printed = re.fullmatch(
            r"certificate fingerprint \(SHA-256\): ([0-9a-f]{64})", line(process)
        )
        assert printed
        assert line(process) == f"listening on https://127.0.0.1:{port}"
        pem = ssl.get_server_certificate(("127.0.0.1", port), timeout=PATIENCE)
        der = ssl.PEM_cert_to_DER_cert(pem)
        assert hashlib.sha256(der).hexdigest() == printed[1]
        assert (crowdml.folder / "place" / "crowdml-cert.pem").exists()


def test_a_token_for_the_metrics(crowdml: Command) -> None:
    """Check the environment variable, which no list of processes shows."""
    port = free_port()
    crowdml.changes["CROWDML_METRICS_TOKEN"] = "open-sesame"
    with serving(crowdml, "--port", port) as process, closing(HttpClient(port)) as wire:
        line(process)
        assert wire.get("/metrics").status == 404
        assert wire.get("/metrics", "open-sesame").status == 200


def test_a_log_for_programs(crowdml: Command) -> None:
    """Check that every line is JSON, with one worker and with several."""
    for workers in (1, 2):
        port = free_port()
        options = ("--port", port, "--workers", workers, "--log-format", "json")
        with serving(crowdml, *options) as process:
            assert process.stderr is not None
            before: list[str] = []
            # A reader who waits for a missing line reads the end of the file instead.
            hung = threading.Timer(PATIENCE, process.kill)
            hung.start()
            while process.poll() is None and len(before) < workers + 1:
                before.append(process.stderr.readline())
            hung.cancel()
            process.terminate()
            out, err = process.communicate(timeout=PATIENCE)
        messages = [json.loads(line)["message"] for line in [*before, *err.splitlines()]]
        assert out == ""
        assert sum(message.endswith(" started") for message in messages) == workers
        assert sum(message.endswith(" stopped") for message in messages) == workers
        assert messages.count(f"listening on http://127.0.0.1:{port}") == 1


def test_a_port_that_is_taken(quick: Here) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]
        sentence = quick("serve", "--port", port).error()
    assert sentence.startswith(f"cannot listen on http://127.0.0.1:{port}: ")
    assert sentence.endswith("Choose another --port or --host.")


def test_a_swapped_certificate_and_key(quick: Here) -> None:
    certificate, key = self_signed(quick.folder, "localhost")
    (quick.folder / "other").mkdir()
    _, other = self_signed(quick.folder / "other", "localhost")
    port = free_port()
    swapped = quick("serve", "--port", port, "--tls", f"{key},{certificate}").error()
    assert swapped == f"{key} must have a certificate in PEM, found a key. Use --tls CERT,KEY."
    wrong = quick("serve", "--port", port, "--tls", f"{certificate},{other}").error()
    assert wrong.startswith(f"{other} must be the key of the certificate {certificate}")
