"""Check wide or damaged files and full disks: one sentence, no loss, nothing sent uncounted."""

import resource
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crowdml.errors import DeviceError
from tests.conformance.conftest import Perform
from tests.conformance.in_one_file import OneFileDevice
from tests.conformance.in_python import PythonDevice
from tests.conformance.scene import BATCH, Stage
from tests.conformance.subject import Subject
from tests.conformance.test_copies import sent

FILES = {
    "python": ("device", "participant.account"),
    "standalone": ("device.sqlite", "crowdml.record"),
}
each_device = pytest.mark.parametrize("device", FILES)
each_file = pytest.mark.parametrize(
    ("device", "file"), [(device, file) for device in FILES for file in FILES[device]]
)


def tried(subject: Subject, n_samples: int = 0) -> str:
    """Run the device as a new process, and return the one sentence that it fails with, or None."""
    if isinstance(subject, OneFileDevice):
        subject.feed(n_samples)
        assert "Traceback" not in subject.said
        return subject.said.splitlines()[-1] if subject.code == 1 else ""
    assert isinstance(subject, PythonDevice)
    try:
        subject.open()
        subject.sync()
        subject.feed(n_samples)
    except DeviceError as error:
        return str(error)
    return ""


def n_charged(subject: Subject) -> int:
    if isinstance(subject, OneFileDevice):
        return len(subject.memory[0]["ledger"])
    assert isinstance(subject, PythonDevice)
    subject.open()
    return len(subject.device.ledger.events)


@each_device
def test_wide_files_are_narrowed_when_they_are_opened(
    perform: Perform, stage: Stage, folder: Path, device: str
) -> None:
    subject = perform(device, stage.scene())
    subject.join()
    subject.feed(BATCH + 1)
    files = [path for path in folder.iterdir() if path.name != "samples.csv"]
    assert {path.name for path in files} >= set(FILES[device])
    for path in files:
        path.chmod(0o666)
    assert tried(subject, BATCH) == ""
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in files if path.exists()}
    assert set(modes.values()) == {0o600}, modes


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "cut within its first page": lambda data: data[:1000],
    "other bytes": lambda data: b"no database at all" * 500,
    "zeros after the first page": lambda data: data[:4096] + bytes(len(data) - 4096),
}


@each_file
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_sends_nothing_and_says_so(
    perform: Perform, stage: Stage, folder: Path, device: str, file: str, damage: str
) -> None:
    subject = perform(device, stage.scene())
    subject.join()
    subject.feed(BATCH)
    subject.close()
    path = folder / file
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    said = tried(subject, BATCH)
    assert said, "no damage goes unnoticed"
    assert "\n" not in said
    assert str(path) in said or "has not joined" in said
    assert len(sent(subject.scene)) == 1


@contextmanager
def no_file_beyond(n_bytes: int) -> Iterator[None]:
    """Limit the size of files, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@each_device
def test_a_full_disk_spends_nothing_that_is_not_counted(
    perform: Perform, stage: Stage, device: str
) -> None:
    subject = perform(device, stage.scene(checkins=20))
    with no_file_beyond(3000):
        said = _joined(subject)
    assert said
    subject.join()
    sentences = set()
    for n_bytes in range(3000, 100_000, 7000):
        with no_file_beyond(n_bytes):
            sentences.add(tried(subject, BATCH))
        assert len(set(sent(subject.scene))) <= n_charged(subject)
    assert len(sentences) > 1
    assert all("disk" in said or "full" in said for said in sentences - {""}), sentences
    assert tried(subject, BATCH) == ""
    assert len(set(sent(subject.scene))) == n_charged(subject), "what waited was sent"
    assert subject.look().outbox is None


def _joined(subject: Subject) -> str:
    try:
        subject.join()
    except (DeviceError, AssertionError) as error:
        return str(error)
    return ""


@each_device
def test_a_device_moves_with_its_record_and_a_copy_of_its_file_does_not(
    perform: Perform, stage: Stage, folder: Path, device: str
) -> None:
    """Move a device with its record; the copy has another name beside the record."""
    subject = perform(device, stage.scene())
    assert isinstance(subject, PythonDevice | OneFileDevice)
    subject.join()
    subject.feed(1)
    subject.close()
    file, record = FILES[device]
    (folder / "new").mkdir()
    for name in (file, record):
        (folder / name).rename(folder / "new" / name)
    subject.file = folder / "new" / file
    shutil.copyfile(subject.file, folder / "new" / "copy")
    assert tried(subject, BATCH) == ""
    assert len(sent(subject.scene)) == 1
    subject.file = folder / "new" / "copy"
    tried(subject, BATCH)
    assert len(sent(subject.scene)) == 1
    assert n_charged(subject) == 1
    assert subject.look().state == "copied"
