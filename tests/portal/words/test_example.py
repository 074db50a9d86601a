"""What leaves a device, on the page of a task: the real mechanism, shown truly."""

import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest

from crowdml.portal.words.example import Example, ExampleMessage, make_example
from crowdml.privacy import CheckinKey, DirectionMechanism, DirectionPayload, Role, role_of
from crowdml.privacy.direction.channel import FIELDS
from crowdml.protocol import Terms, checkin_type, terms_hash
from tests.support.servers import make_task

NOISELESS: dict[str, Any] = {"privacy__epsilon": float("inf")}


def example_of(terms: Terms) -> Example:
    w = np.zeros(terms.make_model().size)
    return make_example(terms, terms_hash(terms.text), w, version=3)


def test_without_noise_what_is_sent_is_the_truth() -> None:
    """Also with held-out samples: the true values are those of the samples that were used."""
    for heldout in (0.0, 0.4):
        task = make_task(collection__batch=15, collection__heldout=heldout, **NOISELESS)
        (message,) = example_of(task.terms).messages
        shown = message.shown
        assert shown.chosen is None
        assert shown.more == task.terms.make_model().size - 6
        for what, true, sent in shown.rows:
            assert true == pytest.approx(sent, abs=1e-4), what
        counts = {str(what): true for what, true, _ in shown.rows if isinstance(true, int)}
        assert {name: counts[name] for name in ("still", "walk", "run")} == dict.fromkeys(
            ("still", "walk", "run"), 5
        )
        evaluated = int(heldout * 15) or 15
        assert 0 <= counts["wrong predictions"] <= evaluated


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_with_noise_it_is_not(law: str) -> None:
    (message,) = example_of(make_task(privacy__mechanism=law).terms).messages
    assert all(
        true != sent for what, true, sent in message.shown.rows if str(what).startswith("number")
    )


def role_in(message: ExampleMessage) -> Role:
    return role_of(msgspec.json.decode(message.body, type=DirectionPayload))


def test_a_number_of_each_role_with_its_probabilities() -> None:
    terms = make_task(privacy__mechanism="direction", collection__batch=6).terms
    messages = {role_in(message): message for message in example_of(terms).messages}
    says = {Role.EVALUATE: ["right", "wrong"], Role.COUNT: [*terms.target.labels]}
    for role, numbers in ((Role.TRAIN, 1024), (Role.EVALUATE, 2), (Role.COUNT, 3)):
        message = messages[role]
        rows, more, chosen = message.shown
        assert chosen is not None
        assert (rows, more) == ((), 0)
        assert json.loads(message.body)[FIELDS[role]] == chosen.number < numbers
        assert chosen.about.values.get("of", 2) == numbers
        assert chosen.unlikely <= chosen.these <= chosen.likely
        assert chosen.likely <= chosen.unlikely * math.exp(terms.loss.total)
        assert str(chosen.says) == (says[role][chosen.number] if role in says else "")


@pytest.mark.parametrize(
    ("evaluators", "counters"), [(0.0, 0.0), (0.9, 0.0), (0.0, 0.9), (0.45, 0.45), (0.01, 0.01)]
)
def test_an_example_of_each_role_that_there_is(evaluators: float, counters: float) -> None:
    shares: dict[str, Any] = {
        "collection__evaluators": evaluators,
        "collection__counters": counters,
    }
    terms = make_task(privacy__mechanism="direction", **shares).terms
    roles = [role_in(message) for message in example_of(terms).messages]
    assert sorted(roles) == sorted(role for role in Role if terms.collection.roles.share(role))


@pytest.mark.parametrize(
    "changes",
    [
        {"target__labels": None, "model__kind": "ridge"},
        {"target__labels": None, "model__kind": "huber", "target__scale": 20.0},
        {"collection__checkins": 5, "privacy__epsilon": 8.0},
    ],
)
def test_a_server_would_take_it(changes: dict[str, Any]) -> None:
    terms = make_task(privacy__mechanism="direction", **changes).terms
    mechanism = terms.mechanism()
    assert isinstance(mechanism, DirectionMechanism)
    for message in example_of(terms).messages:
        sent = checkin_type(mechanism.payload_type)
        document = json.loads(message.body)
        assert document["terms"] == terms_hash(terms.text)
        assert set(document) <= set(sent.__struct_fields__)
        place = next(
            place
            for k in range(100)
            if mechanism.roles.role_of(
                place := CheckinKey(terms_hash(terms.text), f"example-{k}", 1)
            )
            is role_in(message)
        )
        fields = {name: document[name] for name in document if name in FIELDS.values()}
        mechanism.check(mechanism.payload_type(number=1, **fields), place)
