"""Test anything sent in place of one small number: each has a clear error, and changes nothing."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from crowdml.privacy import CheckinKey, Role
from crowdml.protocol import terms_hash
from tests.server.rejected_requests import MISSING, OUT_OF_RANGE, WRONG_TYPES, Bench, joined
from tests.support.checkins import DirectionCheckin
from tests.support.servers import checkin, direction_checkin, enrolled, make_direction_task

DIRECTED_TYPES: dict[str, list[Any]] = WRONG_TYPES | {
    "number": [MISSING, None, "1", 1.5, 1.0, True, [1]],
    "direction": ["5", 5.5, 5.0, True, [5], {}],
    "wrong": ["1", 1.5, 1.0, True, [1], {}],
    "answer": ["1", 1.5, 1.0, True, [1], {}],
}
DIRECTED_RANGES: dict[str, list[Any]] = OUT_OF_RANGE | {
    "number": [0, -1, 1_000_001, 2**63, 10**30],
    "direction": [-1, 100_001, 2**63, 10**30],
    "wrong": [-1, 100_001, 2**63, 10**30],
    "answer": [-1, 100_001, 2**63, 10**30],
}


def test_every_field_has_bad_values() -> None:
    assert set(DIRECTED_TYPES) == set(DIRECTED_RANGES) == set(DirectionCheckin.__struct_fields__)


@dataclass(frozen=True)
class Person:
    """Hold a device of the task for whole people, with a number of each role."""

    name: str
    token: str
    train: int
    evaluate: int
    count: int

    def body(self, number: int, /, **changes: Any) -> bytes:
        """Return a check-in of this number with some fields changed, as JSON."""
        document = json.loads(direction_checkin(PEOPLE, self.name, number)) | changes
        kept = {name: value for name, value in document.items() if value is not MISSING}
        return json.dumps(kept).encode()


PEOPLE = make_direction_task("people", collection__evaluators=0.3, collection__counters=0.3)
ROLES = PEOPLE.terms.collection.roles


@pytest.fixture(scope="module")
def person(bench: Bench) -> Person:
    """Enrol a device whose first nine numbers have all three roles.

    Its tenth number trains, so that it may follow a gap.
    """
    while True:
        joined = enrolled(bench.wire, "people")
        name, terms = joined["device"], terms_hash(PEOPLE.terms.text)
        *roles, tenth = [ROLES.role_of(CheckinKey(terms, name, number)) for number in range(1, 11)]
        if set(Role) == set(roles) and tenth is Role.TRAIN:
            break
    return Person(name, joined["token"], *(roles.index(role) + 1 for role in Role))


DIRECTED = joined(DIRECTED_TYPES, DIRECTED_RANGES)


@pytest.mark.parametrize("field", DIRECTED)
def test_a_field_of_a_directed_check_in_that_breaks_the_protocol(
    bench: Bench, person: Person, field: str
) -> None:
    with bench.unchanged():
        for value in DIRECTED[field]:
            for number in (person.train, person.evaluate, person.count):
                body = person.body(number, **{field: value})
                reply = bench.check_in(body, "people", person.token)
                bench.rejected(reply, "invalid-request", field)


def test_a_message_of_another_mechanism(bench: Bench, person: Person) -> None:
    noise = checkin(bench.task, terms=terms_hash(PEOPLE.terms.text))
    send = lambda: bench.check_in(noise, "people", person.token)  # noqa: E731
    bench.expect(send, "invalid-request", "number is missing", "gradient is not known here")
    body = person.body(person.train)
    bench.expect(lambda: bench.check_in(body), "invalid-request", "direction is not known here")


DIRECTED_IMPLAUSIBLE: list[tuple[str, dict[str, Any], str, tuple[str, ...]]] = [
    ("train", {"version": 4000}, "future-version", ("found 4,000",)),
    ("train", {"terms": "0" * 64}, "terms-changed", ("0" * 64,)),
    ("train", {"number": 11}, "too-many-checkins", ("at most 10", "found 11")),
    ("evaluate", {"number": 1_000_000}, "too-many-checkins", ("found 1000000",)),
    ("count", {"number": 11}, "too-many-checkins", ("at most 10", "found 11")),
    ("train", {"direction": 1024}, "implausible", ("0 … 1023", "found 1024")),
    ("train", {"direction": 100_000}, "implausible", ("found 100000",)),
    ("evaluate", {"wrong": 2}, "implausible", ("wrong must lie in 0 … 1, found 2",)),
    ("count", {"answer": 3}, "implausible", ("answer must lie in 0 … 2, found 3",)),
    ("train", {"direction": None}, "wrong-role", ("carry `direction` alone, found nothing.",)),
    ("evaluate", {"wrong": MISSING, "answer": 0}, "wrong-role", ("must evaluate and carry",)),
    ("count", {"wrong": 0}, "wrong-role", ("`answer` alone, found `wrong` and `answer`.",)),
]


@pytest.mark.parametrize(
    ("role", "changes", "kind", "words"),
    [pytest.param(*case, id=f"{case[0]} {case[1]}"[:50]) for case in DIRECTED_IMPLAUSIBLE],
)
def test_a_directed_value_that_breaks_the_terms(
    bench: Bench,
    person: Person,
    role: str,
    changes: dict[str, Any],
    kind: str,
    words: tuple[str, ...],
) -> None:
    body = person.body(getattr(person, role), **changes)
    bench.expect(lambda: bench.check_in(body, "people", person.token), kind, *words)


def test_an_evaluation_of_numbers_has_two_values(bench: Bench) -> None:
    """Check evaluations of a task without labels, where no check-in has the role of counting."""
    task = make_direction_task("numbers", model__kind="ridge", target__labels=None)
    roles = task.terms.collection.roles
    assert roles.counters == 0
    while True:
        joined = enrolled(bench.wire, "numbers")
        place = CheckinKey(terms_hash(task.terms.text), joined["device"], 1)
        if roles.role_of(place) is Role.EVALUATE:
            break
    for changes, status in (
        ({"wrong": None, "answer": 0}, 422),
        ({"wrong": 2}, 422),
        ({"wrong": 1}, 200),
    ):
        body = direction_checkin(task, joined["device"], **changes)
        assert bench.check_in(body, "numbers", joined["token"]).status == status


def test_a_number_that_comes_again(bench: Bench, person: Person) -> None:
    """Check that a repeated number is rejected under another id.

    Under its own id it is answered as before, and no number beyond the last is accepted.
    """
    first, again, last = person.body(10), person.body(10), person.body(11)
    answer = bench.check_in(first, "people", person.token).json()
    assert answer["status"] == "applied"
    bench.expect(
        lambda: bench.check_in(again, "people", person.token),
        "repeated-number", "check-in 10 of this device",
    )  # fmt: skip
    assert bench.check_in(first, "people", person.token).json() == answer | {"status": "duplicate"}
    bench.expect(lambda: bench.check_in(last, "people", person.token), "too-many-checkins")


def test_the_number_of_another_device(bench: Bench, person: Person) -> None:
    """Check that roles and codebooks belong to the token's device, not to the sender's."""
    someone = enrolled(bench.wire, "people")
    terms, n_sent = terms_hash(PEOPLE.terms.text), 0
    for number in range(1, 10):
        mine, theirs = (
            ROLES.role_of(CheckinKey(terms, name, number))
            for name in (person.name, someone["device"])
        )
        reply = bench.check_in(person.body(number), "people", someone["token"])
        in_order = mine is Role.TRAIN or 2 * n_sent >= number - 1
        assert reply.status == (422 if mine is not theirs else 200 if in_order else 409), number
        n_sent += reply.status == 200
