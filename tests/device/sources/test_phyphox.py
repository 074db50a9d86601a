"""Test the labels of a phone that pauses or is away, and a phone that has too many readings."""

import logging
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crowdml.device import Device, DeviceStore, Outcome, RetryTimer, set_label
from crowdml.device.sources import Intake, PhyphoxPhone, phyphox
from crowdml.device.sources.formats import SECOND
from crowdml.device.storage.streams import Streams
from experiments.sources.apps import START, PhyphoxApp, record
from tests.device.fakes import MemoryTransport, join
from tests.device.sources.test_apps import labels_in, task_of

RATE = 20


class Lab:
    """Be a device and a phone; `walk` lets both clocks run, `pause` stops the phone's."""

    def __init__(self, folder: Path, seconds: int, transport: MemoryTransport) -> None:
        self.device: Device = join(folder / "device", transport)
        self.store = DeviceStore(folder / "device")
        self.app = PhyphoxApp(record(seconds, rate=RATE))
        self.now, self.second = START, 0
        self.intake = Intake(self.store, "phyphox", clock=lambda: self.now)
        retry_timer = RetryTimer(base=0.0001, longest=0.0001)
        self.phone = PhyphoxPhone("127.0.0.1", self.app.port, self.intake, retry_timer, 0.0)

    def poll(self) -> None:
        for _ in range(2):  # the first answer may only show the session
            self.phone.poll(0.01)

    def measure(self, seconds: int) -> None:
        self.now += seconds * SECOND
        self.second += seconds
        self.app.now = RATE * self.second

    def label(self, label: str | None) -> None:
        set_label(self.store, label, self.now)

    def close(self) -> None:
        self.app.close()
        self.store.close()
        self.device.close()


@pytest.mark.parametrize("says_so", [True, False])
@pytest.mark.parametrize("pause", [0, 60, 1800])
def test_a_label_that_is_set_during_a_pause(tmp_path: Path, pause: int, says_so: bool) -> None:
    """Pause the experiment, set another label, and go on: time stands still on the phone."""
    with closing(Lab(tmp_path, 180, task_of())) as lab:
        lab.label("Walking")
        for _ in range(60):
            lab.measure(1)
            lab.poll()
        n_walking = lab.store.n_samples
        lab.app.measuring = not says_so
        for _ in range(10):
            lab.now += pause * SECOND // 10
            lab.poll()
        lab.label("Running")
        lab.poll()
        lab.app.measuring = True
        for _ in range(60):
            lab.measure(1)
            lab.poll()
        found = labels_in(lab.store)
    assert set(found[:n_walking]) == {"Walking"}
    after = found[n_walking:]
    assert len(after) > 100
    assert after.count("Running") >= len(after) - 1, "one sample may be of the time before"


@pytest.mark.parametrize("away", [3000, 4000])
def test_labels_that_are_set_while_the_phone_is_away(tmp_path: Path, away: int) -> None:
    """Set labels while the phone is out of reach; each counts from its own moment."""
    transport = task_of(sensor={"every": 10})
    with closing(Lab(tmp_path, 60 + away, transport)) as lab:
        lab.label("Walking")
        lab.measure(60)
        lab.poll()
        lab.app.broken = True
        lab.measure(away // 2)
        lab.label("Still")
        lab.intake.flush_if_quiet()  # `run_live` calls it twice a second
        lab.measure(away // 2)
        lab.label("Running")
        lab.app.broken = False
        for _ in range(3):
            lab.poll()
        found = labels_in(lab.store)
        assert lab.intake.newest(f"phyphox:{lab.app.session}")
    assert list(dict.fromkeys(found)) == ["Walking", "Still"]
    assert found.count("Walking") == pytest.approx(6 + away / 20, abs=2)
    assert found.count("Still") == pytest.approx(away / 20, abs=2)


def test_a_label_does_not_count_for_what_was_measured_before_it(tmp_path: Path) -> None:
    with closing(Lab(tmp_path, 120, task_of())) as lab:
        lab.measure(60)
        lab.label("Walking")
        lab.measure(60)
        lab.poll()
        assert len(labels_in(lab.store)) == pytest.approx(120, abs=3), "60 s, two samples each"


def test_catching_up_writes_no_more_than_the_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    write = Streams.write

    def counting(streams: Streams, path: str, document: bytes) -> None:
        written.append(len(document))
        write(streams, path, document)

    monkeypatch.setattr(Streams, "write", counting)
    with closing(Lab(tmp_path, 600, task_of())) as lab:
        lab.label("Walking")
        lab.measure(600)
        lab.poll()
        n_samples = lab.store.n_samples
    assert n_samples > 1000
    assert len(written) <= n_samples + 10
    assert sum(written) < 1000 * n_samples


def test_a_restart_continues_where_the_samples_end(tmp_path: Path) -> None:
    """Stop while readings wait for room: they are fetched again, and none is used twice."""
    transport = task_of(collection__batch=10, collection__buffer=20)
    with closing(Lab(tmp_path, 60, transport)) as lab:
        lab.label("Walking")
        lab.measure(60)
        lab.poll()
        assert lab.store.n_samples == 20
        lab.intake = Intake(lab.store, "phyphox", clock=lambda: lab.now)
        retry_timer = RetryTimer(base=0.0001, longest=0.0001)
        lab.phone = PhyphoxPhone("127.0.0.1", lab.app.port, lab.intake, retry_timer, 0.0)
        lab.poll()
        while lab.device.flush() is Outcome.CHECKED_IN:
            lab.poll()
        assert lab.intake.newest(f"phyphox:{lab.app.session}") == lab.app.moments[-1].ms * 1_000_000
        assert lab.intake.counts.taken == 0
        assert lab.intake.counts.kept == pytest.approx(120 - 20, abs=3)


def test_a_full_device_does_not_ask(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    transport = task_of(collection__batch=3, collection__buffer=6)
    caplog.set_level(logging.WARNING, "crowdml.device")
    with closing(Lab(tmp_path, 60, transport)) as lab:
        lab.label("Walking")
        lab.measure(30)
        lab.poll()
        n_answers = lab.app.n_answers
        for _ in range(20):
            lab.measure(1)
            lab.poll()
        assert lab.app.n_answers == n_answers
        assert caplog.text.count("the buffer is full") == 1
        while lab.device.flush() is Outcome.CHECKED_IN:
            lab.poll()
        assert lab.app.n_answers > n_answers
        said = [caplog.text.count(f"the buffer {what}") for what in ("is full", "has room again")]
        assert said[0] == said[1] <= 2
        newest: Any = lab.intake.newest(f"phyphox:{lab.app.session}")
        assert newest > 49 * SECOND


def test_an_answer_that_is_too_large(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begin some minutes before the newest reading, and say how much is left out."""
    monkeypatch.setattr(phyphox, "LARGEST_ANSWER", 100_000)
    monkeypatch.setattr(phyphox, "RECENT_NANOSECONDS", 60 * SECOND)
    with closing(Lab(tmp_path, 660, task_of())) as lab:
        lab.label("Walking")
        lab.measure(660)
        for _ in range(3):
            lab.poll()
        newest: Any = lab.intake.newest(f"phyphox:{lab.app.session}")
        assert newest == lab.app.moments[-1].ms * 1_000_000
        assert lab.store.n_samples == pytest.approx(120, abs=3)
    assert "10.0 minutes are left out, and the last 1 minutes are read." in caplog.text
    assert caplog.text.count("left out") == 1
