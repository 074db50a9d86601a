"""Check devices with a wrong certificate: one sentence, and nothing is sent or lost."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crowdml.device import Device
from crowdml.errors import Untrusted
from tests.conformance.certificates import Certificates
from tests.conformance.in_one_file import OneFileDevice
from tests.conformance.in_python import PythonDevice
from tests.conformance.scene import BATCH, Scene, Stage
from tests.conformance.test_copies import sent
from tests.device.scripted_server import serving

WRONG = {
    "unknown": "self-signed certificate in certificate chain",
    "expired": "certificate has expired",
    "not yet valid": "certificate is not yet valid",
    "of another host": "localhost",
}
"""What OpenSSL says of each wrong certificate."""

WRONG_DATES = ("expired", "not yet valid")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def secured(
    stage: Stage, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authorities))
    certificates.now = "good"
    with serving(stage, certificates.shown) as url:
        yield url


def one_sentence(subject: PythonDevice | OneFileDevice, join: bool = False, pin: str = "") -> str:
    """Return what the device says when it is asked to join, or to send a minibatch."""
    if isinstance(subject, OneFileDevice):
        join_pinned(subject, pin) if join else subject.run_once()
        assert subject.code == 1
        (said,) = subject.said.splitlines()
        return said
    with pytest.raises(Untrusted) as rejected:
        join_pinned(subject, pin) if join else subject.feed(BATCH)
    return str(rejected.value)


def join_pinned(subject: PythonDevice | OneFileDevice, pin: str) -> None:
    """Join, and trust only the certificate with this fingerprint, if one is given."""
    if isinstance(subject, OneFileDevice):
        link = f"{subject.url}/join/{subject.scene.name}"
        subject.run("join", link, "--yes", *(["--fingerprint", pin] if pin else []))
        return
    subject.retry_timer = subject._retry_timer()
    subject._device = Device.join(
        subject.url, subject.scene.name, file=subject.file, retry_timer=subject.retry_timer,
        fingerprint=pin or None,
    )  # fmt: skip


def make(device: str, url: str, scene: Scene, folder: Path) -> PythonDevice | OneFileDevice:
    return (PythonDevice if device == "python" else OneFileDevice)(url, scene, folder)


@pytest.mark.parametrize("device", ["python", "standalone"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_certificate_that_is_or_becomes_wrong(
    secured: str, certificates: Certificates, stage: Stage, folder: Path, device: str, wrong: str
) -> None:
    subject = make(device, secured, stage.scene(), folder)
    certificates.now = wrong
    said = one_sentence(subject, join=True)
    assert WRONG[wrong] in said
    assert ("clock says" if wrong in WRONG_DATES else "fingerprint") in said
    assert subject.scene.heard == []
    certificates.now = "good"
    subject.join()
    subject.scene.heard.clear()
    certificates.now = wrong
    assert WRONG[wrong] in one_sentence(subject)
    assert subject.scene.heard == []
    certificates.now = "good"
    subject.wake()
    assert len(sent(subject.scene)) == 1
    assert subject.look()[1:] == (0, None, 1)
    subject.close()


@pytest.mark.parametrize("device", ["python", "standalone"])
def test_a_pinned_certificate_that_changes(
    secured: str, certificates: Certificates, stage: Stage, folder: Path, device: str
) -> None:
    """Check that another certificate of the same server is rejected, even with an authority."""
    subject = make(device, secured, stage.scene(), folder)
    join_pinned(subject, certificates.fingerprint())
    subject.scene.heard.clear()
    certificates.now = "expired"
    assert "certificate" in one_sentence(subject)
    assert subject.scene.heard == []
    certificates.now = "good"
    subject.wake()
    assert subject.look()[1:] == (0, None, 1)
    subject.close()


@pytest.mark.parametrize("device", ["python", "standalone"])
@pytest.mark.parametrize("wrong", WRONG_DATES)
def test_a_pinned_certificate_counts_only_from_its_first_day_to_its_last(
    secured: str, certificates: Certificates, stage: Stage, folder: Path, device: str, wrong: str
) -> None:
    subject = make(device, secured, stage.scene(), folder)
    certificates.now = wrong
    said = one_sentence(subject, join=True, pin=certificates.fingerprint(wrong))
    assert WRONG[wrong] in said
    assert f"This machine's clock says {time.strftime('%Y-%m-%d')}" in said
    assert subject.scene.heard == []


@pytest.mark.parametrize("device", ["python", "standalone"])
def test_a_pinned_certificate_counts_whatever_its_name(
    secured: str, certificates: Certificates, stage: Stage, folder: Path, device: str
) -> None:
    subject = make(device, secured, stage.scene(), folder)
    certificates.now = "of another host"
    join_pinned(subject, certificates.fingerprint("of another host"))
    assert subject.look()[0] is not None
    subject.close()
