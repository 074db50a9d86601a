"""Check that copied memories spend no uncounted ε, and that a killed device can go on."""

import pytest
from playwright.sync_api import Error as InPage

from crowdml.errors import DeviceError
from tests.conformance.conftest import Perform, every_device
from tests.conformance.in_one_file import OneFileDevice
from tests.conformance.scene import BATCH, Scene, Stage
from tests.conformance.subject import Subject
from tests.conformance.table import Seen


def sent(scene: Scene) -> list[bytes]:
    return [heard.body for heard in scene.heard if heard.what == "check-in"]


@every_device
def test_a_memory_that_is_put_back_sends_nothing(
    perform: Perform, stage: Stage, device: str
) -> None:
    """Restore a memory three times, with samples and without, with enough ε for one check-in."""
    subject = perform(device, stage.scene(checkins=1))
    subject.join()
    subject.back_up()
    subject.feed(BATCH)
    assert len(sent(subject.scene)) == 1
    for _ in range(3):
        subject.restore()
        subject.feed(BATCH)
        assert subject.look() == Seen("copied", BATCH, None, 1), "and the ledger knows why"
    assert len(sent(subject.scene)) == 1
    subject.start()
    assert subject.look() == Seen("copied", BATCH, None, 1)
    subject.leave()
    assert subject.scene.heard[-1].what == "leave"


@every_device
def test_a_copy_charges_all_that_it_did_not_know(
    perform: Perform, stage: Stage, device: str
) -> None:
    subject = perform(device, stage.scene())
    subject.join()
    subject.feed(BATCH)
    subject.back_up()
    for _ in range(2):
        subject.feed(BATCH)
    subject.restore()
    subject.feed(BATCH)
    assert subject.look() == Seen("copied", BATCH, None, 3)
    assert len(sent(subject.scene)) == 3


@every_device
def test_a_copy_that_waits_sends_the_same_bytes(
    perform: Perform, stage: Stage, device: str
) -> None:
    """Check that a copy sends the same bytes again, which reveal nothing new."""
    subject = perform(device, stage.scene())
    subject.join()
    subject.scene.says("checkins", None)
    subject.feed(BATCH)
    subject.back_up()
    del subject.scene.raw["checkins"]
    subject.wake()
    subject.feed(BATCH)
    subject.restore()
    bodies = sent(subject.scene)
    assert len(set(bodies)) == 2
    assert bodies[-1] == bodies[0]
    subject.feed(BATCH)
    assert subject.look() == Seen("copied", BATCH, None, 2)


@every_device
@pytest.mark.parametrize("n_before", [0, 1])
def test_a_memory_without_its_record_sends_nothing(
    perform: Perform, stage: Stage, device: str, n_before: int
) -> None:
    """Lose the record, as on another machine, and go on after leaving and joining again."""
    subject = perform(device, stage.scene())
    subject.join()
    for _ in range(n_before):
        subject.feed(BATCH)
    subject.scene.heard.clear()
    subject.lose_record()
    assert "join again" in _rejection(subject)
    assert subject.scene.heard == []
    subject.leave()
    subject.join()
    subject.feed(BATCH)
    assert sent(subject.scene)


def _rejection(subject: Subject) -> str:
    if isinstance(subject, OneFileDevice):
        subject.feed(BATCH)
        assert subject.code == 1
        return subject.said.splitlines()[-1]
    with pytest.raises((DeviceError, InPage)) as rejected:
        subject.feed(BATCH)
    return str(rejected.value)


@every_device
@pytest.mark.parametrize("written", [False, True])
def test_a_device_killed_at_its_record_sends_the_same_bytes(
    perform: Perform, stage: Stage, device: str, written: bool
) -> None:
    subject = perform(device, stage.scene())
    subject.join()
    subject.die_at_the_record(written)
    assert sent(subject.scene) == []
    subject.back_up()
    for _ in range(2):
        subject.restore()
    assert len(set(sent(subject.scene))) == 1
    assert len(sent(subject.scene)) == 2
    assert subject.look() == Seen("collecting", 0, None, 1)
    subject.feed(BATCH)
    assert subject.look() == Seen("collecting", 0, None, 2)
