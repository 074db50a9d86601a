"""Check every store of a server."""

from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from itertools import chain

from crowdml.errors import InvalidInput, Rejected
from crowdml.protocol import Task
from crowdml.server import Store
from crowdml.server.database import (
    DROPPED_PAYLOAD,
    CheckinMark,
    DatabaseChanges,
    DeviceRow,
    DeviceTotals,
    LogEntry,
    marks_of,
    token_sha256,
)

TASK = """
name = "{name}"
title = "A task to check a store with"
objective = "none"
owner = "none"
contact = "none"
purpose = "none"
sensors = "none"
features = {{count = 2}}
target = {{labels = ["no", "yes"]}}
model = {{kind = "softmax"}}
privacy = {{epsilon = 1.0}}
collection = {{batch = 1, buffer = 1}}
stop = {{updates = 1000}}
"""
PAGE_SIZE = 3


def check_store(make_store: Callable[[], Store]) -> None:
    """Raise `AssertionError` unless the store keeps the promises that the server relies on.

    Args:
        make_store: Opens the same store each time it is called, empty at first; two may be open
            at once, as when an owner pauses a task while the server runs.
    """
    with closing(make_store()) as store:
        check_tasks(store)
        check_devices(store)
        check_invites(store)
        check_log(store)
        check_failing_append(store)
        check_device_totals(store)
        check_snapshots(store)
        with closing(make_store()) as other:
            check_changes_are_noticed(store, other)
        before = _everything(store)
    with closing(make_store()) as store:
        assert _everything(store) == before, "a store that is opened again must see all it kept"


def check_tasks(store: Store) -> None:
    assert store.tasks() == [], "a new store must be empty"
    first, second = (_task(store, name) for name in ("first", "second"))
    assert [row.task for row in store.tasks()] == [first, second], "tasks come in order"
    row = store.task("first")
    assert (row.task, row.terms, row.owner_settings.state) == (first, first.terms.text, "running")
    _must_reject(lambda: store.create_task(first), "a second task of the same name")
    _must_reject(lambda: store.task("third"), "a task that does not exist")
    store.set_task_state("second", "paused")
    assert store.task("second").owner_settings.state == "paused"
    store.set_task_state("second", "stopped")
    _must_reject(lambda: store.set_task_state("second", "running"), "waking a stopped task")
    assert [row.owner_settings.state for row in store.tasks()] == ["running", "stopped"]


def check_devices(store: Store) -> None:
    first, second = (row.id for row in store.tasks())
    enrolled = [store.enrol(task, None, False) for task in (first, first, second)]
    assert [row.number for row, _ in enrolled] == [0, 1, 0], "devices are numbered within a task"
    assert len({token for _, token in enrolled}) == 3, "tokens must differ"
    for row, token in enrolled:
        assert store.device(token_sha256(token)) == row, "a device is found by its token's hash"
    assert store.device(token_sha256("unknown")) is None
    assert store.devices(first) == [enrolled[0][0], enrolled[1][0]]
    assert [store.count_devices(task) for task in (first, second)] == [2, 1]
    revoked, token = enrolled[1]
    store.set_device_status(revoked.name, "revoked")
    found = store.device(token_sha256(token))
    assert found == DeviceRow(first, 1, revoked.name, "revoked"), "a status is remembered"
    _must_reject(lambda: store.set_device_status("nobody", "left"), "an unknown device")


def check_invites(store: Store) -> None:
    first, second = (row.id for row in store.tasks())
    _must_reject(lambda: store.invites.create(first, 0), "an invite for nobody")
    code = store.invites.create(first, 2)
    before = store.count_devices(first)
    for invite in (None, "", "wrong"):
        _must_reject(partial(store.enrol, first, invite, True), f"invite {invite!r}")
    _must_reject(lambda: store.enrol(second, code, True), "another task's invite")
    assert store.count_devices(first) == before, "a rejected enrolment leaves no device behind"
    for _ in range(2):
        store.enrol(first, code, True)
    _must_reject(lambda: store.enrol(first, code, True), "an invite that is used up")


def check_log(store: Store) -> None:
    first, second = (row.id for row in store.tasks())
    log = store.log(first)
    assert (list(log), len(log)) == ([], 0), "the log of a new task is empty"
    entries = [_entry(store, first, seq) for seq in range(1, 3 * PAGE_SIZE + 2)]
    log.append(entries[:1])
    log.append(entries[1:])
    store.log(second).append([_entry(store, second, 1)])
    assert len(log) == len(entries)
    for page in (1, PAGE_SIZE, 1000):
        joined = list(chain.from_iterable(log.after(0, page)))
        assert joined == entries, "pages must join without a seam"
    assert next(log.after(PAGE_SIZE, PAGE_SIZE)) == entries[PAGE_SIZE : 2 * PAGE_SIZE]
    assert list(log.after(len(entries))) == []
    by_id, by_number, unknown = entries[0], entries[1], entries[2]
    wanted = [
        (0, by_id.id, None),
        (0, "unknown", by_number.number),
        (0, "unknown", 99),
        (1, unknown.id, unknown.number),
    ]
    expected = _marks(by_id) | _marks(by_number)
    assert log.seen(wanted) == expected, "a check-in is known by its device and its id or number"
    other = [(0, by_number.id, by_number.number)]
    assert store.log(second).seen(other) == {}, "ids and numbers belong to their task"
    assert log.seen([]) == {}


def check_failing_append(store: Store) -> None:
    """Check that a group is stored whole or not at all."""
    first = store.tasks()[0].id
    log = store.log(first)
    before = list(log)
    seq = before[-1].seq + 1
    fresh, later = _entry(store, first, seq), _entry(store, first, seq + 1)
    groups = {
        "an id of this device twice": [fresh, later._replace(id=before[0].id)],
        "an id twice in one group": [fresh, later._replace(id=fresh.id)],
        "a number of this device twice": [fresh, later._replace(number=before[0].number)],
        "a number twice in one group": [fresh, later._replace(number=fresh.number)],
        "a sequence number twice": [fresh, later._replace(seq=before[0].seq)],
    }
    for what, group in groups.items():
        rejected = True
        # The type of the error depends on the database behind the store.
        with suppress(Exception):
            log.append(group)
            rejected = False
        assert rejected, f"append must reject {what}"
        assert list(log) == before, f"{what} must leave nothing behind"
    first_one = before[0]
    same = fresh._replace(device=1, id=first_one.id, number=first_one.number)
    unnumbered = [later._replace(seq=seq + 1 + i, id=f"plain-{i}", number=None) for i in range(2)]
    log.append([same, *unnumbered])
    found = log.seen([(device, first_one.id, None) for device in (0, 1)])
    assert found == _marks(first_one) | _marks(same), "ids and numbers belong to a device"


def check_device_totals(store: Store) -> None:
    log = store.log(store.tasks()[0].id)
    for first, last in ((0, 1), (1, 5), (2, 9)):
        expected = {}
        for device in range(first, last + 1):
            entries = [entry for entry in log if entry.device == device]
            if entries:
                late = sum(entry.staleness for entry in entries) / len(entries)
                samples = sum(entry.samples or 0 for entry in entries)
                newest = max(entry.at for entry in entries)
                expected[device] = DeviceTotals(len(entries), samples, late, newest)
        assert log.by_device(range(first, last + 1)) == expected, "totals are those of the log"


def check_snapshots(store: Store) -> None:
    first, second = (store.log(row.id) for row in store.tasks())
    assert first.snapshots() == []
    payload = [entry.payload for entry in first]
    for seq in (1, 5, 9):
        first.save_snapshot(seq, bytes([seq]))
        assert first.snapshots()[0] == (seq, bytes([seq])), "the newest snapshot comes first"
    assert [seq for seq, _ in first.snapshots()] == [9, 5], "two are kept"
    assert second.snapshots() == [], "a snapshot belongs to its task"
    first.save_snapshot(9, b"again")
    assert first.snapshots()[0] == (9, b"again"), "a snapshot may be taken again"
    assert [entry.payload for entry in first] == payload, "all is kept unless one says otherwise"
    totals = first.by_device(range(10))
    first.save_snapshot(10, b"later", keep_payloads=False)
    kept = [entry.payload for entry in first]
    assert kept == [*[DROPPED_PAYLOAD] * 9, *payload[9:]], "what the last two cover may go"
    assert first.by_device(range(10)) == totals, "counts are kept"


def check_changes_are_noticed(store: Store, other: Store) -> None:
    _news(store)
    assert not _news(store), "nothing has happened"
    store.set_task_state("first", "running")
    assert not _news(store), "a store's own writes are no news to it"
    other.set_task_state("first", "paused")
    assert _news(store).tasks, "another process has written"
    assert store.task("first").owner_settings.state == "paused"
    assert not _news(store), "news is returned once"
    first = store.task("first").id
    other.enrol(first, None, False)
    logs = _news(store).logs
    assert logs is None or first in logs, "a new device is news"


def _news(store: Store) -> DatabaseChanges:
    """Return news, after a time in which it would have arrived."""
    store.wait_for_changes(0.2)
    return store.changes()


def _task(store: Store, name: str) -> Task:
    task = Task.from_toml(TASK.format(name=name))
    assert store.create_task(task).task == task, "creating a task gives it back"
    return task


def _entry(store: Store, task: int, seq: int) -> LogEntry:
    """Make an entry whose columns all differ from zero, so that two swapped columns show."""
    return LogEntry(
        task=task,
        seq=seq,
        device=0,
        id=f"checkin-{seq:08d}",
        at=1_700_000_040 + 60 * (seq % 4),
        version=seq // 2,
        number=seq + 3,
        samples=seq + 20,
        payload=bytes([seq % 256, 0, 255]),
        name=store.devices(task, 0, 1)[0].name,
    )


def _marks(entry: LogEntry) -> dict[CheckinMark, int]:
    return dict.fromkeys(marks_of(entry.device, entry.id, entry.number), entry.seq)


def _must_reject(call: Callable[[], object], what: str) -> None:
    try:
        call()
    except (InvalidInput, Rejected):
        return
    raise AssertionError(f"the store must reject {what}")


def _everything(store: Store) -> list[object]:
    kept: list[object] = [store.tasks()]
    for row in store.tasks():
        log = store.log(row.id)
        kept += [store.devices(row.id), store.count_devices(row.id), list(log), log.snapshots()]
    return kept
