"""Make learners on a real database, check-ins for them, and a slow way to the same result."""

import io
from collections.abc import Sequence

import msgspec
import numpy as np
import sqlalchemy as sa

from crowdml.protocol import Checkin, Task, checkin_type, terms_hash
from crowdml.server import Store
from crowdml.server.database import schema
from crowdml.server.database.log_entry import LogEntry
from crowdml.server.database.store import DeviceRow
from crowdml.server.database.tokens import token_sha256
from crowdml.server.log.decision import Arrival
from crowdml.server.log.fold import Fold
from crowdml.server.log.learner import Learner
from tests.support.checkins import DirectionCheckin, NoiseCheckin
from tests.support.servers import checkin, direction_checkin

CROWD = 3


def message(task: Task, device: str, number: int, seed: int) -> Checkin:
    """Make a valid check-in of this device; `number` matters where the mechanism counts."""
    kind = checkin_type(task.terms.mechanism().payload_type)
    body = (
        direction_checkin(task, device, number, seed)
        if kind is DirectionCheckin
        else checkin(task, seed, samples=3 + seed % 5)
    )
    found: Checkin = msgspec.json.decode(body, type=kind)
    return found


def noisy(task: Task, seed: int = 0, samples: int | None = None) -> NoiseCheckin:
    return msgspec.json.decode(checkin(task, seed, samples), type=NoiseCheckin)


def changed(arrival: Arrival, **changes: object) -> Arrival:
    other = msgspec.structs.replace(arrival.checkin, **changes)  # type: ignore[type-var]
    return Arrival(arrival.device, other)


def ingest_now(learner: Learner, incoming: Sequence[Arrival], group: int = 50) -> None:
    """Ingest the check-ins in groups, each about the newest version."""
    for start in range(0, len(incoming), group):
        some = incoming[start : start + group]
        learner.ingest([changed(arrival, version=learner.version) for arrival in some])


def enlist(store: Store, task: Task, n: int = CROWD) -> list[DeviceRow]:
    """Add devices with fixed names, so that their codebooks and roles are fixed too."""
    row = store.task(task.name)
    crowd = [DeviceRow(row.id, i, f"{task.name}-{i}", "active") for i in range(n)]
    rows = [device._asdict() | {"token_sha256": token_sha256(device.name)} for device in crowd]
    with store._database._connection.begin():
        store._database._connection.execute(sa.insert(schema.devices), rows)
    return crowd


def arrivals(
    task: Task, n: int, crowd: Sequence[DeviceRow] | None = None, first: int = 0
) -> list[Arrival]:
    """Make n valid check-ins, of each device in turn, starting with check-in number `first`."""
    crowd = crowd or [DeviceRow(1, i, f"{task.name}-{i}", "active") for i in range(CROWD)]
    made = []
    for i in range(first, first + n):
        device = crowd[i % len(crowd)]
        made.append(Arrival(device, message(task, device.name, 1 + i // len(crowd), i)))
    return made


def entry(task: Task, seq: int, device: int = 0, late: int = 0, number: int = 1) -> LogEntry:
    """Make a valid line of the log, 50 to a minute."""
    name = f"{task.name}-{device}"
    sent = message(task, name, number, seq)
    kind = task.terms.mechanism().payload_type
    payload = msgspec.msgpack.encode(msgspec.convert(sent, kind, from_attributes=True))
    version = max(0, seq - 1 - late)
    return LogEntry(
        1, seq, device, sent.id, 60 * (seq // 50), version, sent.number, sent.samples, payload, name
    )


def new_learner(store: Store, task: Task, snapshot_every: int = 1000, n: int = CROWD) -> Learner:
    """Make a task with n devices, as `arrivals` uses them, and its learner."""
    store.create_task(task)
    enlist(store, task, n)
    return reopened(store, task, snapshot_every)


def reopened(store: Store, task: Task, snapshot_every: int = 1000) -> Learner:
    row = store.task(task.name)
    return Learner(row, store.log(row.id), snapshot_every)


def replayed(store: Store, task: Task) -> Fold:
    row = store.task(task.name)
    fold = Fold(task, terms_hash(row.terms))
    for entry in store.log(row.id):
        fold.apply(entry)
    return fold


def assert_same(found: Fold, expected: Fold) -> None:
    """Check that two folds are equal bit for bit, in everything."""
    with (
        np.load(io.BytesIO(found.to_bytes())) as a,
        np.load(io.BytesIO(expected.to_bytes())) as b,
    ):
        assert set(a) == set(b)
        for name in a:
            assert a[name].dtype == b[name].dtype
            assert a[name].tobytes() == b[name].tobytes(), name
    assert found.exported.tobytes() == expected.exported.tobytes()
    assert found.learning.totals == expected.learning.totals
    assert found.active.count == expected.active.count
    assert found.error() == expected.error()
    assert found.state == expected.state
