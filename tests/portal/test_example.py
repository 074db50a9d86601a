"""What leaves a device, on the page of a task: the real mechanism, told truly."""

import json
import math
from typing import Any

import numpy as np
import pytest

from crowdml.portal.example import Example, make_example
from crowdml.privacy import DirectionMechanism, Place
from crowdml.protocol import Terms, checkin_type, terms_hash
from tests.servers import make_task

NOISELESS: dict[str, Any] = {"privacy__epsilon": float("inf")}


def example_of(terms: Terms) -> Example:
    w = np.zeros(terms.make_model().size)
    return make_example(terms, terms_hash(terms.text), w, version=3)


def test_without_noise_what_is_sent_is_the_truth() -> None:
    """Also with held-out samples: the truth is that of the samples really used."""
    for heldout in (0.0, 0.4):
        task = make_task(collection__batch=15, collection__heldout=heldout, **NOISELESS)
        (message,) = example_of(task.terms).messages
        assert message.odds is None
        assert message.more == task.terms.make_model().size - 6
        for what, true, sent in message.rows:
            assert float(true) == pytest.approx(float(sent), abs=1e-4), what
        counts = {what: int(true) for what, true, _ in message.rows if "." not in true}
        assert {name: counts[name] for name in ("still", "walk", "run")} == dict.fromkeys(
            ("still", "walk", "run"), 5
        )
        evaluated = int(heldout * 15) or 15
        assert 0 <= counts["wrong predictions"] <= evaluated


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_with_noise_it_is_not(law: str) -> None:
    (message,) = example_of(make_task(privacy__mechanism=law).terms).messages
    assert all(true != sent for what, true, sent in message.rows if what.startswith("number"))


def test_a_direction_and_a_report_with_their_odds() -> None:
    terms = make_task(privacy__mechanism="direction", collection__batch=6).terms
    trained, evaluated = sorted(
        example_of(terms).messages, key=lambda message: "report" in json.loads(message.body)
    )
    for message, key, numbers in ((trained, "direction", 1024), (evaluated, "report", 6)):
        odds = message.odds
        assert odds is not None
        assert (message.rows, message.more) == ([], 0)
        assert json.loads(message.body)[key] == odds.number < odds.of == numbers
        assert odds.unlikely <= odds.these <= odds.likely
        assert odds.likely <= odds.unlikely * math.exp(terms.epsilon_per_sample)
        assert bool(odds.report) == (key == "report")
    assert evaluated.odds is not None
    label, wrong = divmod(evaluated.odds.number, 2)
    name = terms.target.labels[label]
    said = "predicted wrongly" if wrong else "predicted rightly"
    assert evaluated.odds.report == f"{name}, {said}"


@pytest.mark.parametrize("evaluators", [0.0, 0.9])
def test_an_example_of_each_role_that_there_is(evaluators: float) -> None:
    task = make_task(privacy__mechanism="direction", collection__evaluators=evaluators)
    roles = ["report" in json.loads(message.body) for message in example_of(task.terms).messages]
    assert sorted(roles) == ([False, True] if evaluators else [False])


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
        sent = checkin_type(mechanism)
        document = json.loads(message.body)
        assert document["terms"] == terms_hash(terms.text)
        assert set(document) <= set(sent.__struct_fields__)
        place = next(
            place
            for k in range(100)
            if mechanism.evaluates(place := Place(terms_hash(terms.text), f"example-{k}", 1))
            == ("report" in document)
        )
        told = {name: document[name] for name in document if name in ("direction", "report")}
        mechanism.check(mechanism.told(number=1, **told), place)
