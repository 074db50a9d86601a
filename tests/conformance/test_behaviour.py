"""Check every device in every state, after every event, against the table of behaviour."""

from typing import Any

import pytest
from playwright.sync_api import Page

from crowdml import one_file_device as standalone
from crowdml.device.exchange import RETRIABLE_REJECTIONS
from crowdml.device.membership import FINAL_REJECTIONS
from crowdml.device.retry_timer import SLOT
from crowdml.protocol import PROBLEMS, State
from tests.conformance.conftest import DEVICES, Perform, every_device
from tests.conformance.in_one_file import OneFileDevice
from tests.conformance.scene import APPLIED, BATCH, COST, Stage, answer_of
from tests.conformance.subject import Subject
from tests.conformance.table import (
    ANSWERS,
    EVENTS,
    LATER,
    STATES,
    TABLE,
    Seen,
    cells,
    expected,
    is_never_asked_for,
    not_offered,
)


def parameters(parts: dict[str, dict[str, list[str]]]) -> list[Any]:
    """Yield a cell for each device that offers it."""
    return [
        pytest.param(
            device, state, event, row,
            id=f"{device}-{state}-{event}", marks=pytest.mark.xdist_group(f"conformance {device}"),
        )
        for device in DEVICES
        for state, part in parts.items()
        for event, row in cells(part)
        if not not_offered(device, state, row) and not is_never_asked_for(device, event, row)
    ]  # fmt: skip


FALLING_INTO = {
    "waiting": "no network",
    "paused": "task-paused",
    "revoked": "revoked",
    "copied": "repeated-number",
}
"""The answer to the first check-in that leads to a state."""


def reach(subject: Subject, state: str) -> Seen:
    """Bring a device into a state by events that happen in practice."""
    scene = subject.scene
    subject.join(COST if state == "at the limit" else None)
    if state in FALLING_INTO:
        scene.says("checkins", answer_of(FALLING_INTO[state]))
    if state == "terms changed":
        scene.change_terms()
    if state == "task finished":
        scene.state = "stopped"
    if state == "left":
        subject.leave()
    else:
        subject.feed({"collecting": 1, "at the limit": 2 * BATCH}.get(state, BATCH))
    seen, means = subject.look(), STATES[state]
    assert seen[:2] == (state, means["samples"])
    assert (seen.outbox is not None, seen.ledger) == (means["outbox"], means["ledger"])
    scene.says("checkins", APPLIED)
    scene.heard.clear()
    return seen


def happen(subject: Subject, event: str, before: Seen, asked: str = "checkins") -> int:
    """Let an event happen, and return how many samples came with it to fill the minibatch."""
    scene = subject.scene
    if event in ANSWERS:
        scene.says(asked, answer_of(event))
        if before.state == "collecting":
            subject.feed(BATCH - before.samples)
            return BATCH - before.samples
        subject.wake()
    elif event == "sample":
        subject.feed(1)
    elif event == "another process left":
        subject.other_leaves()
    elif event == "terms agreed":
        scene.change_terms()
        subject.agree()
    elif event == "limit raised":
        subject.raise_limit()
    elif event == "start again":
        subject.start()
    else:
        subject.leave()
    return 0


def check(subject: Subject, row: str, before: Seen, fed: int) -> None:
    """Compare a row of the table with what the server received and the device remembers."""
    scene = subject.scene
    bodies = [heard.body for heard in scene.heard if heard.what == "check-in"]
    new = next((body for body in bodies if body != before.outbox), None)
    sent = [
        f"check-in with {'the same' if heard.body == before.outbox else 'new'} bytes"
        if heard.what == "check-in"
        else heard.what
        for heard in scene.heard
    ]
    wanted = expected(subject.name, row, before, fed, new)
    assert (subject.look(), sent) == (wanted.seen, wanted.sent)
    for path in ("checkins", "model"):
        scene.raw.pop(path, None)
    assert subject.again() == wanted.again


@pytest.mark.parametrize(("device", "state", "event", "row"), parameters(TABLE["cells"]))
def test_cell(
    perform: Perform, stage: Stage, device: str, state: str, event: str, row: str
) -> None:
    subject = perform(device, stage.scene(1 if state == "all check-ins made" else 8))
    before = reach(subject, state)
    check(subject, row, before, happen(subject, event, before))


@pytest.mark.parametrize(
    ("device", "state", "event", "row"), parameters({"collecting": TABLE["checkout"]})
)
def test_a_rejected_check_out(
    perform: Perform, stage: Stage, device: str, state: str, event: str, row: str
) -> None:
    """Check that nothing is sent before there is a model: samples stay samples."""
    subject = perform(device, stage.scene())
    before = reach(subject, state)
    check(subject, row, before, happen(subject, event, before, "model"))


@pytest.mark.parametrize(
    ("device", "state", "event", "row"), parameters({"collecting": TABLE["last"]})
)
def test_the_last_check_in(
    perform: Perform, stage: Stage, device: str, state: str, event: str, row: str
) -> None:
    subject = perform(device, stage.scene(checkins=1))
    before = reach(subject, state)
    check(subject, row, before, happen(subject, event, before))


@every_device
@pytest.mark.parametrize("state", State)
def test_what_a_task_says_of_itself(
    perform: Perform, stage: Stage, device: str, state: State
) -> None:
    """Check that an end is final within a run; the next start asks again with all samples."""
    subject = perform(device, stage.scene())
    subject.join()
    subject.scene.state = str(state)
    subject.feed(BATCH)
    if state is State.RUNNING:
        assert subject.look() == Seen("collecting", 0, None, 1)
        return
    means = "paused" if state is State.PAUSED else "task finished"
    assert subject.look() == Seen(means, BATCH, None, 0)
    subject.scene.state = "running"
    if device != "standalone" and state.final:
        subject.wake()
        assert subject.look() == Seen(means, BATCH, None, 0)
    subject.start()
    assert subject.look() == Seen("collecting", 0, None, 1)


def test_one_slot_and_one_list_of_rejections_for_all(page: Page) -> None:
    """Check that each language states the constants once, under the same name."""
    assert (
        SLOT
        == standalone.SLOT
        == page.evaluate("import('/web/device/retry_timer.js').then((m) => m.SLOT)")
    )
    lists = page.evaluate(
        "import('/web/device/device.js').then((m) => [m.FINAL_REJECTIONS, m.RETRIABLE_REJECTIONS])"
    )
    assert FINAL_REJECTIONS == standalone.FINAL_REJECTIONS == set(lists[0])
    assert RETRIABLE_REJECTIONS == standalone.RETRIABLE_REJECTIONS == set(lists[1])


@pytest.mark.parametrize(("steps", "slot"), [(standalone.STEPS_OF_SLOT, SLOT), (1500, 2 * SLOT)])
@pytest.mark.parametrize("took", [0.001, 0.03, 0.12])
def test_the_one_file_sends_at_the_end_of_its_slots(
    perform: Perform,
    stage: Stage,
    took: float,
    steps: int,
    slot: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Check the slots of the one-file device; the other devices have their own tests."""
    monkeypatch.setattr(standalone, "STEPS_OF_SLOT", steps)
    subject = perform("standalone", stage.scene())
    assert isinstance(subject, OneFileDevice)
    subject.join()
    subject.took = took
    subject.feed(BATCH)
    (rest,) = subject.rests
    assert (took + rest) % slot == pytest.approx(0, abs=1e-9) or (
        took + rest
    ) % slot == pytest.approx(slot)
    assert 0 < rest <= slot


# The table itself


def test_every_cell_is_there_once() -> None:
    assert list(TABLE["cells"]) == list(STATES)
    assert len(STATES) == 10
    for part in TABLE["cells"].values():
        assert sorted(event for event, _ in cells(part)) == sorted(EVENTS)
    rejections = [event for event in ANSWERS if event not in ("applied", "duplicate")]
    assert sorted(event for event, _ in cells(TABLE["checkout"])) == sorted(rejections)
    assert sorted(event for event, _ in cells(TABLE["last"])) == sorted(ANSWERS)


def test_every_problem_is_an_event() -> None:
    assert {"applied", "duplicate", "unknown", "foreign", "no network", *PROBLEMS} == set(ANSWERS)
    assert set(EVENTS) == {"sample", *ANSWERS, *LATER}


def test_every_row_is_used() -> None:
    parts = [*TABLE["cells"].values(), TABLE["checkout"], TABLE["last"]]
    assert {row for part in parts for row in part} == set(TABLE["rows"])
    for row in TABLE["rows"].values():
        assert set(row["sent"]) <= {
            "check-out", "check-in with the same bytes", "check-in with new bytes", "leave",
        }  # fmt: skip
        assert row["state"] in {"same", *STATES}
        assert set(row.get("not", {})) | set(row.get("but", {})) <= set(DEVICES)


@every_device
def test_a_check_in_that_evaluates_tests_the_exported_model(
    perform: Perform, stage: Stage, device: str
) -> None:
    """Check that a check-in that evaluates uses the exported model, and every other check-in w.

    Which check-ins evaluate is public, and known before the check-out.
    """
    subject = perform(device, stage.scene(name=f"roles-{device}", evaluators=0.5))
    subject.join()
    for _ in range(8):
        subject.feed(BATCH)
    heard = [each for each in subject.scene.heard if each.what in ("check-out", "check-in")]
    pairs = [
        (out.query, b'"wrong"' in sent.body)
        for out, sent in zip(heard[::2], heard[1::2], strict=True)
    ]
    assert len(pairs) == 8
    assert set(pairs) == {("", False), ("role=evaluate", True)}
