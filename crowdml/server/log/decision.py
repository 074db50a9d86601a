"""Decide which check-ins of a group may enter the log, in the order of their arrival."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import msgspec

from crowdml.errors import Rejected
from crowdml.phrase import Phrase
from crowdml.privacy import CheckinKey, Role
from crowdml.protocol import Checkin, CheckinAnswer, State, rejected
from crowdml.server.database import CheckinMark, DeviceRow, LogEntry, marks_of, this_minute
from crowdml.server.log.fold import Fold
from crowdml.server.log.frequency import Frequency
from crowdml.server.log.sent_numbers import SentNumbers

ENDED = {
    "left": rejected("revoked", Phrase("this device has left the task. Join again.")),
    "revoked": rejected(
        "revoked", Phrase("this device has been excluded by the task's owner. Join again.")
    ),
}
"""The answer to a device that no longer takes part, by its status."""

CheckinDecision: TypeAlias = CheckinAnswer | Rejected


class Arrival(NamedTuple):
    """Hold a check-in that passed every check that does not depend on the order."""

    device: DeviceRow
    checkin: Checkin


def decide(
    task: int,
    fold: Fold,
    state: State,
    frequency: Frequency,
    sent: SentNumbers,
    arrivals: list[Arrival],
    seen: dict[CheckinMark, int],
    removed: Mapping[int, str] = MappingProxyType({}),
) -> tuple[list[CheckinDecision], list[LogEntry]]:
    """Decide on each arrival, and list the entries to append, unless one of them ends the task.

    Args:
        task: The number of the task.
        fold: The state after everything in the log.
        state: The state of the task now.
        frequency: The counter of check-ins that may be appended.
        sent: The numbers that devices have in the log.
        seen: The positions of ids and numbers in the log; those of this group are added.
        removed: Devices that left or were revoked since they were authenticated, with their status.
    """
    decisions: list[CheckinDecision] = []
    entries: list[LogEntry] = []
    granted: dict[int, tuple[int, int]] = {}  # like `sent`, for the devices of this group
    rejection, at = rejection_of(state), this_minute()
    first, payload_type = fold.version, fold.mechanism.payload_type
    cap = fold.task.enrolment.max_staleness
    for device, checkin in arrivals:
        version = first + len(entries)
        known = granted.get(device.number) or sent.highest_and_count(device.number)
        decision = (
            _repeated(device, checkin, seen)
            or ENDED.get(removed.get(device.number, ""))
            or rejection
            or _version_problem(checkin, version, cap)
            or _number_problem(fold, device, checkin, known)
            or frequency.rejection(device.number, at)
        )
        if decision is None:
            entry = _entry(task, payload_type, device, checkin, version + 1, at)
            entries.append(entry)
            frequency.reserve(entry.device, at)
            if entry.number is not None:
                granted[entry.device] = entry.number, known[1] + 1
            for mark in marks_of(entry.device, entry.id, entry.number):
                seen[mark] = entry.seq
            decision = CheckinAnswer(entry.seq, "applied")
        decisions.append(decision)
    return decisions, entries


def rejection_of(state: State) -> Rejected | None:
    """Make the rejection of every check-in in this state; None if the state accepts check-ins."""
    if state.final:
        words = Phrase("the task has ended: {state}. Stop collecting.", state=state.phrase)
        return rejected("task-finished", words, state=state)
    if state is State.PAUSED:
        words = Phrase("the task is paused. Try again later.")
        return rejected("task-paused", words, state=state)
    return None


def _version_problem(checkin: Checkin, version: int, cap: int | None) -> Rejected | None:
    """Reject a version from the future, or one older than `max_staleness`."""
    if checkin.version > version:
        words = Phrase(
            "version must be at most {most}, found {found}. Check out again.",
            most=version,
            found=checkin.version,
        )
        return rejected("future-version", words, version=version)
    if cap is not None and version - checkin.version > cap:
        words = Phrase(
            "a gradient may be at most {most} versions late, found {found}. Check out again.",
            most=cap,
            found=version - checkin.version,
        )
        return rejected("stale-version", words, version=version)
    return None


def _number_problem(
    fold: Fold, device: DeviceRow, checkin: Checkin, known: tuple[int, int]
) -> Rejected | None:
    """Reject a number that is out of order.

    The role of a check-in follows from its number, so a device that chose its numbers would choose
    its role, and could always report errors. An honest device leaves a gap only where a check-in
    was rejected for good. A device that misses more than half of its numbers may no longer evaluate
    or count, but it may always train.

    Args:
        known: The highest number of the device in the log, and how many it has there.
    """
    number, (highest, n_sent) = checkin.number, known
    if number is None or (number > highest and 2 * n_sent >= number - 1):
        return None
    if number <= highest:
        words = Phrase(
            "numbers are taken in order: this number must be at least {least}, found {number}.",
            least=highest + 1,
            number=number,
        )
        return rejected("wrong-number", words)
    key = CheckinKey(fold.terms_sha256, device.name, number)
    if fold.task.terms.collection.roles.role_of(key) is Role.TRAIN:
        return None
    words = Phrase(
        "check-in {number} does not train, and needs half of the numbers before it in the log, "
        "found {sent} of them. Send each number.",
        number=number,
        sent=n_sent,
    )
    return rejected("wrong-number", words)


def _entry(
    task: int, payload_type: type, device: DeviceRow, checkin: Checkin, seq: int, at: int
) -> LogEntry:
    return LogEntry(
        task=task,
        seq=seq,
        device=device.number,
        id=checkin.id,
        at=at,
        version=checkin.version,
        number=checkin.number,
        samples=checkin.samples,
        payload=msgspec.msgpack.encode(
            msgspec.convert(checkin, payload_type, from_attributes=True)
        ),
        name=device.name,
    )


def _repeated(
    device: DeviceRow, checkin: Checkin, seen: dict[CheckinMark, int]
) -> CheckinDecision | None:
    """Repeat the first answer for the same id; reject the same number under another id."""
    first = seen.get((device.number, checkin.id))
    if first is not None:
        return CheckinAnswer(first, "duplicate")
    if checkin.number is not None and (device.number, checkin.number) in seen:
        words = Phrase(
            "check-in {number} of this device is in the log with another id. Send each number "
            "once, and the same bytes again where an answer was lost.",
            number=checkin.number,
        )
        return rejected("repeated-number", words)
    return None
