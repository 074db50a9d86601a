"""Whatever is sent in place of one small number: its own clear error, and nothing changed."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from crowdml.privacy import DirectionMechanism, Place
from crowdml.protocol import DirectedCheckin, terms_hash
from tests.server.refusing import MISSING, OUT_OF_RANGE, WRONG_TYPES, Bench, cases
from tests.servers import checkin, directed, enrolled, make_directed

DIRECTED_TYPES: dict[str, list[Any]] = WRONG_TYPES | {
    "number": [MISSING, None, "1", 1.5, 1.0, True, [1]],
    "direction": ["5", 5.5, 5.0, True, [5], {}],
    "report": ["1", 1.5, 1.0, True, [1], {}],
}
DIRECTED_RANGES: dict[str, list[Any]] = OUT_OF_RANGE | {
    "number": [0, -1, 1_000_001, 2**63, 10**30],
    "direction": [-1, 100_001, 2**63, 10**30],
    "report": [-1, 100_001, 2**63, 10**30],
}


def test_every_field_has_bad_values() -> None:
    assert set(DIRECTED_TYPES) == set(DIRECTED_RANGES) == set(DirectedCheckin.__struct_fields__)


@dataclass(frozen=True)
class Person:
    """A device of the task for whole people, with a number of each role."""

    name: str
    token: str
    trains: int
    evaluates: int

    def body(self, number: int, /, **changes: Any) -> bytes:
        """A check-in of this number with some fields changed, as JSON would have it."""
        document = json.loads(directed(PEOPLE, self.name, number)) | changes
        kept = {name: value for name, value in document.items() if value is not MISSING}
        return json.dumps(kept).encode()


PEOPLE = make_directed("people", collection__evaluators=0.5)


@pytest.fixture(scope="module")
def person(bench: Bench) -> Person:
    """One of those whose first nine numbers have both roles, as nearly all have."""
    mechanism = PEOPLE.terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism)
    while True:
        joined = enrolled(bench.wire, "people")
        name, terms = joined["device"], terms_hash(PEOPLE.terms.text)
        roles = [mechanism.evaluates(Place(terms, name, number)) for number in range(1, 10)]
        if {True, False} == set(roles):
            break
    numbers = roles.index(False) + 1, roles.index(True) + 1
    return Person(name, joined["token"], *numbers)


@pytest.mark.parametrize(("field", "value"), cases(DIRECTED_TYPES, DIRECTED_RANGES))
def test_a_field_of_a_directed_check_in_that_breaks_the_protocol(
    bench: Bench, person: Person, field: str, value: Any
) -> None:
    for number in (person.trains, person.evaluates):
        body = person.body(number, **{field: value})
        bench.expect(
            lambda body=body: bench.check_in(body, "people", person.token),  # type: ignore[misc]
            "invalid-request",
            field,
        )


def test_a_message_of_another_mechanism(bench: Bench, person: Person) -> None:
    noise = checkin(bench.task, terms=terms_hash(PEOPLE.terms.text))
    send = lambda: bench.check_in(noise, "people", person.token)  # noqa: E731
    bench.expect(send, "invalid-request", "number is missing", "gradient is not known here")
    body = person.body(person.trains)
    bench.expect(lambda: bench.check_in(body), "invalid-request", "direction is not known here")


DIRECTED_IMPLAUSIBLE: list[tuple[str, dict[str, Any], str, tuple[str, ...]]] = [
    ("trains", {"version": 4000}, "future-version", ("found 4,000",)),
    ("trains", {"terms": "0" * 64}, "terms-changed", ("0" * 64,)),
    ("trains", {"number": 11}, "too-many-checkins", ("at most 10", "found 11")),
    ("evaluates", {"number": 1_000_000}, "too-many-checkins", ("found 1000000",)),
    ("trains", {"direction": 1024}, "implausible", ("0 … 1023", "found 1024")),
    ("trains", {"direction": 100_000}, "implausible", ("found 100000",)),
    ("trains", {"direction": MISSING}, "wrong-role", ("direction alone",)),
    ("trains", {"direction": None}, "wrong-role", ("direction alone",)),
    ("trains", {"report": 0}, "wrong-role", ("direction alone",)),
    ("trains", {"direction": MISSING, "report": 0}, "wrong-role", ("direction alone",)),
    ("evaluates", {"report": 6}, "implausible", ("0 … 5", "found 6")),
    ("evaluates", {"report": MISSING}, "wrong-role", ("report alone",)),
    ("evaluates", {"direction": 0}, "wrong-role", ("report alone",)),
    ("evaluates", {"report": MISSING, "direction": 0}, "wrong-role", ("report alone",)),
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


def test_a_report_about_numbers_has_two_values(bench: Bench) -> None:
    task = make_directed("numbers", model__kind="ridge", target__labels=None)
    mechanism = task.terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism)
    while True:
        joined = enrolled(bench.wire, "numbers")
        place = Place(terms_hash(task.terms.text), joined["device"], 1)
        if mechanism.evaluates(place):
            break
    for report, status in ((2, 422), (1, 200)):
        body = directed(task, joined["device"], report=report)
        assert bench.check_in(body, "numbers", joined["token"]).status == status


def test_a_number_that_comes_again(bench: Bench, person: Person) -> None:
    """Refused under another id, answered as before under its own, and the last one is the last."""
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
    """Roles and codebooks go with the token's device, whatever name the sender had in mind."""
    someone = enrolled(bench.wire, "people")
    mechanism, terms = PEOPLE.terms.mechanism(), terms_hash(PEOPLE.terms.text)
    assert isinstance(mechanism, DirectionMechanism)
    for number in range(1, 10):
        mine, theirs = (
            mechanism.evaluates(Place(terms, name, number))
            for name in (person.name, someone["device"])
        )
        reply = bench.check_in(person.body(number), "people", someone["token"])
        assert reply.status == (200 if mine == theirs else 422), number
