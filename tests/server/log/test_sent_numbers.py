"""Test numbered check-ins: each number of a device once, in order, at most K, in their role."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from sqlalchemy.exc import IntegrityError

from crowdml.errors import Rejected
from crowdml.privacy import CheckinKey, Role, role_of
from crowdml.privacy.direction.channel import FIELDS
from crowdml.protocol import CheckinAnswer, Task, terms_hash
from crowdml.server import Store
from crowdml.server.database.log import SEEN_QUERY
from crowdml.server.log.checkin_rules import CheckinRules
from crowdml.server.log.decision import Arrival
from crowdml.server.log.learner import Learner
from tests.server.learners import (
    arrivals,
    assert_same,
    changed,
    message,
    new_learner,
    reopened,
    replayed,
)
from tests.support.checkins import DirectionCheckin
from tests.support.servers import make_direction_task, make_task

NEW_ID = "another-id-of-it"


@pytest.fixture
def task() -> Task:
    return make_direction_task()


@pytest.fixture
def learner(store: Store, task: Task) -> Learner:
    return new_learner(store, task)


def kinds(answers: list[CheckinAnswer | Rejected]) -> list[str]:
    return [each.kind if isinstance(each, Rejected) else each.status for each in answers]


def test_a_number_counts_once(store: Store, task: Task, learner: Learner) -> None:
    """Check repetitions within a group of arrivals, in the next group, and after a restart."""
    first, second = arrivals(task, 2)
    again = changed(first, id=NEW_ID)
    assert kinds(learner.ingest([first, again, second])) == [
        "applied", "repeated-number", "applied",
    ]  # fmt: skip
    (rejected,) = learner.ingest([again])
    assert isinstance(rejected, Rejected)
    assert (rejected.kind, rejected.status) == ("repeated-number", 409)
    assert "check-in 1 of this device" in rejected.detail
    restarted = reopened(store, task)
    assert kinds(restarted.ingest([again])) == ["repeated-number"]
    assert restarted.ingest([first]) == [CheckinAnswer(1, "duplicate")]
    assert len(store.log(learner.id)) == 2
    assert_same(restarted.committed_fold(), replayed(store, task))


def test_the_same_id_is_the_same_check_in_whatever_its_number(task: Task, learner: Learner) -> None:
    """Check that the id decides first: a retry gets the first answer, even if its bytes changed."""
    (first,) = arrivals(task, 1)
    assert learner.ingest([first]) == [CheckinAnswer(1, "applied")]
    assert learner.ingest([changed(first, number=2)]) == [CheckinAnswer(1, "duplicate")]


def test_numbers_belong_to_a_device(task: Task, learner: Learner, store: Store) -> None:
    one, other, _ = store.devices(learner.id)
    messages = [message(task, device.name, 1, seed=0) for device in (one, other)]
    incoming = [Arrival(one, messages[0]), Arrival(other, messages[1])]
    assert kinds(learner.ingest(incoming)) == ["applied", "applied"]
    assert [entry.number for entry in store.log(learner.id)] == [1, 1]


def roles_of(task: Task, device: str) -> dict[Role, list[int]]:
    """Return the numbers 1 … 10 of a device, by their role."""
    found: dict[Role, list[int]] = {role: [] for role in Role}
    for number in range(1, 11):
        place = CheckinKey(terms_hash(task.terms.text), device, number)
        found[task.terms.collection.roles.role_of(place)].append(number)
    return found


@pytest.mark.parametrize("groups", [(4,), (1, 1, 1, 1), (2, 2)])
def test_numbers_are_taken_in_order(
    task: Task, learner: Learner, store: Store, groups: Sequence[int]
) -> None:
    """Check the order within a group, in later groups and after a restart.

    Skipped numbers are lost.
    """
    device = store.devices(learner.id)[0]
    sent = [Arrival(device, message(task, device.name, n, seed=n)) for n in (1, 3, 2, 4)]
    answers = list[CheckinAnswer | Rejected]()
    for size in groups:
        answers += learner.ingest(sent[len(answers) : len(answers) + size])
    assert kinds(answers) == ["applied", "applied", "wrong-number", "applied"]
    rejected = answers[2]
    assert isinstance(rejected, Rejected)
    assert "must be at least 4, found 2" in rejected.detail
    assert kinds(reopened(store, task).ingest(sent)) == [
        "duplicate", "duplicate", "wrong-number", "duplicate",
    ]  # fmt: skip


def test_a_device_cannot_skip_to_the_numbers_that_evaluate(store: Store) -> None:
    """Check that such a number needs half of the numbers before it.

    A number that trains may follow a gap of any size.
    """
    task = make_direction_task(collection__evaluators=0.4, collection__counters=0.1)
    learner = new_learner(store, task, n=60)
    tried = {"applied": 0, "wrong-number": 0}
    for device in store.devices(learner.id):
        roles = roles_of(task, device.name)
        highest = n_sent = 0
        for number in (*roles[Role.EVALUATE][1::2], *roles[Role.COUNT], *roles[Role.TRAIN]):
            (kind,) = kinds(
                learner.ingest([Arrival(device, message(task, device.name, number, 0))])
            )
            short = number not in roles[Role.TRAIN] and 2 * n_sent < number - 1
            assert kind == ("wrong-number" if number <= highest or short else "applied")
            tried[kind] += 1
            if kind == "applied":
                highest, n_sent = number, n_sent + 1
    assert min(tried.values()) > 50, "both must have happened"


def test_an_honest_device_continues_after_rejections(store: Store) -> None:
    """Lose each second check-in for good; the device must lose nothing else."""
    task = make_direction_task(collection__evaluators=0.5, collection__counters=0.1)
    learner = new_learner(store, task, n=20)
    for device in store.devices(learner.id):
        odd = [Arrival(device, message(task, device.name, n, n)) for n in range(1, 11, 2)]
        assert kinds(learner.ingest(odd)) == ["applied"] * 5


def test_a_rejected_check_in_uses_up_no_number(task: Task, learner: Learner) -> None:
    (first,) = arrivals(task, 1)
    early = changed(first, version=99)
    assert kinds(learner.ingest([early])) == ["future-version"]
    assert kinds(learner.ingest([changed(first, id=NEW_ID)])) == ["applied"]


def test_the_database_itself_takes_a_number_once(
    store: Store, task: Task, learner: Learner
) -> None:
    """Check the constraint of the database, which also holds for another process on the same file.

    It holds even if the code above it forgets to check.
    """
    learner.ingest(arrivals(task, 1))
    log = store.log(learner.id)
    (entry,) = log
    again = entry._replace(seq=2, id=NEW_ID)
    with pytest.raises(IntegrityError, match="number"):
        log.append([again])
    assert list(log) == [entry]
    log.append([again._replace(device=1, name="activity-1")])
    log.append([again._replace(seq=3, number=2)])
    assert len(log) == 3


def test_two_processes_take_a_number_once(
    store: Store, task: Task, learner: Learner, tmp_path: Path
) -> None:
    (first,) = arrivals(task, 1)
    again = changed(first, id=NEW_ID)
    with closing(Store(f"sqlite:///{tmp_path / 'store.db'}")) as other:
        assert kinds(reopened(other, task).ingest([first])) == ["applied"]
    assert kinds(learner.ingest([again])) == ["repeated-number"]
    assert len(store.log(learner.id)) == 1


def test_check_ins_without_numbers_are_not_counted(store: Store) -> None:
    task = make_task()
    learner = new_learner(store, task)
    assert kinds(learner.ingest(arrivals(task, 40))) == ["applied"] * 40
    assert {entry.number for entry in store.log(learner.id)} == {None}


def test_numbers_are_looked_up_in_an_index(store: Store, task: Task, learner: Learner) -> None:
    """Check that lookups use an index, so that a long log is never read from end to end."""
    learner.ingest(arrivals(task, 30))
    found = store.log(learner.id).seen([(0, "unknown", 3), (1, "unknown", 99)])
    assert (0, 3) in found
    assert (1, 99) not in found
    query = "EXPLAIN QUERY PLAN " + SEEN_QUERY.format("(?, ?, ?)", task=1)
    with store._database._connection.begin():
        plan = store._database._connection.exec_driver_sql(query, (0, "unknown", 3)).all()
    reads = [row[-1] for row in plan if "log" in row[-1]]
    assert len(reads) == 2, plan
    assert all("USING INDEX" in read for read in reads), plan


# The rules for one check-in


def rules(task: Task) -> CheckinRules:
    return CheckinRules(task.terms, terms_hash(task.terms.text))


def sent(task: Task, number: int, device: str = "ana") -> DirectionCheckin:
    made = message(task, device, number, seed=number)
    assert isinstance(made, DirectionCheckin)
    return made


def rejection(task: Task, checkin: DirectionCheckin, device: str = "ana") -> Rejected:
    with pytest.raises(Rejected) as caught:
        rules(task).check(checkin, device)
    return caught.value


def test_no_more_than_k(task: Task) -> None:
    rules(task).check(sent(task, 10), "ana")
    rejected = rejection(task, sent(task, 11))
    assert (rejected.kind, rejected.status) == ("too-many-checkins", 409)
    assert "at most 10, found 11" in rejected.detail


def test_roles_are_not_for_the_device_to_choose(task: Task) -> None:
    """Check that every number has one role, all three occur, and only that role is accepted."""
    roles = task.terms.collection.roles
    found = set()
    for i in range(60):
        device = f"device-{i}"
        made = sent(task, 1, device)
        role = roles.role_of(CheckinKey(made.terms, device, 1))
        found.add(role)
        rules(task).check(made, device)
        nothing = dict.fromkeys(FIELDS.values())
        others = [field for each, field in FIELDS.items() if each is not role]
        changes: list[dict[str, int | None]] = [nothing, dict.fromkeys(FIELDS.values(), 0)]
        changes += [nothing | {other: 0} for other in others]
        changes += [{other: 0} for other in others]
        for change in changes:
            rejected = rejection(task, msgspec.structs.replace(made, **change), device)
            assert (rejected.kind, rejected.status) == ("wrong-role", 422)
            assert f"must {role} and carry `{FIELDS[role]}` alone, found" in rejected.detail
    assert found == set(Role)


def test_numbers_have_separate_roles(task: Task) -> None:
    found = {role_of(sent(task, number)) for number in range(1, 61)}
    assert found == set(Role)
