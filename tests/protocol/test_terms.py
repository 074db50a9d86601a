"""Test the terms: one text, one hash, and no trust in the server that sends them."""

import hashlib
import json
from typing import Any

import pytest

from crowdml.errors import InvalidInput, InvalidTask
from crowdml.privacy import Loss, NoiseMechanism, epsilon_of
from crowdml.protocol import Task, Terms, terms_hash
from tests.protocol.files import REGRESSION, task_file
from tests.support.servers import make_task

TERMS = Task.from_toml(task_file()).terms
GAUSSIAN = Task.from_toml(task_file({"privacy.mechanism": '"gaussian"'})).terms
DIRECTION = Task.from_toml(task_file({"privacy.mechanism": '"direction"'})).terms


def changed(path: str, value: Any, terms: Terms = TERMS) -> str:
    document = json.loads(terms.text)
    *sections, name = path.split(".")
    place = document
    for section in sections:
        place = place[section]
    place[name] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"privacy.epsilon": "inf"},
        REGRESSION,
        {"features.description": '"α, β – ‖x‖₁ ≤ 1"', "collection.heldout": "0.25"},
    ],
)
def test_text_parses_to_itself(changes: dict[str, str | None]) -> None:
    terms = Task.from_toml(task_file(changes)).terms
    assert Terms.parse(terms.text) == terms
    assert Terms.parse(terms.text).text == terms.text
    json.loads(terms.text, parse_constant=pytest.fail)


def test_the_hash_is_of_the_bytes_shown() -> None:
    text = TERMS.text + " ‖x‖₁ "
    assert terms_hash(text) == hashlib.sha256(text.encode("utf-8")).hexdigest()
    assert terms_hash(TERMS.text) != terms_hash(TERMS.text + "\n")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("task", "other"),
        ("owner", "John Doe"),
        ("purpose", "An app that is sold."),
        ("features.count", 5),
        ("target.labels", ["a", "b", "c"]),
        ("model.kind", "hinge"),
        ("model.clip", 1.0),
        ("privacy.epsilon", 2.0),
        ("privacy.epsilon_g", 0.5),
        ("collection.batch", 1),
        ("collection.heldout", 0.1),
    ],
)
def test_every_change_has_another_hash(path: str, value: Any) -> None:
    other = Terms.parse(changed(path, value))
    assert terms_hash(other.text) != terms_hash(TERMS.text)


@pytest.mark.parametrize("name", ["stop.updates", "optimizer.c", "enrolment.max_staleness"])
def test_the_servers_own_business_is_no_term(name: str) -> None:
    assert Task.from_toml(task_file({name: "7"})).terms.text == TERMS.text


def test_claimed_epsilon_is_not_believed() -> None:
    """Check that a device's charge is computed from the noise that it will really add."""
    terms = Terms.parse(changed("privacy.epsilon_g", 0.5))
    assert terms.privacy.epsilon == 1.0
    assert terms.loss.total == pytest.approx(0.6)


@pytest.mark.parametrize(("part", "value"), [("g", 5.0), ("e", "inf"), ("y", 0.06)])
def test_terms_that_cost_more_than_they_say_are_rejected(part: str, value: Any) -> None:
    with pytest.raises(InvalidTask, match="must be at least what a check-in costs"):
        Terms.parse(changed(f"privacy.epsilon_{part}", value))


def test_claimed_clip_is_capped_by_the_models_own_bound() -> None:
    mechanism = Terms.parse(changed("model.clip", 50.0)).mechanism()
    assert isinstance(mechanism, NoiseMechanism)
    assert mechanism.clip == 2.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "null",
        "not JSON",
        "\ud800",
        '{"task": "\\ud800"}',
        "[" * 10_000,
        changed("colour", "red"),
        changed("model.kind", "forest"),
        changed("model.kind", "ridge"),
        changed("model.clip", None),
        changed("model.clip", 0.0),
        changed("model.clip", float("nan")),
        changed("target.labels", []),
        changed("target.labels", ["a", "a", "b"]),
        changed("privacy.epsilon_g", 0.0),
        changed("privacy.epsilon_g", "Infinity"),
        changed("privacy.epsilon_g", None),
        changed("privacy.epsilon_e", 0.0),
        changed("privacy.epsilon_y", 0.0),
        changed("features.count", 0),
        changed("collection.batch", 0),
        changed("collection.buffer", 9),
        changed("collection.heldout", 0.9),
        changed("collection.evaluators", 0.2),
        changed("collection.evaluators", 0.2, GAUSSIAN),
        changed("collection.counters", 0.05),
        changed("collection.counters", 0.05, GAUSSIAN),
        changed("collection.counters", 0.76, DIRECTION),
        changed("collection.evaluators", 0.86, DIRECTION),
        changed("collection.heldout", 0.2, DIRECTION),
        changed("collection.checkins", None, DIRECTION),
        changed("privacy.closest", 1024, DIRECTION),
        changed("privacy.epsilon", 40.1, DIRECTION),
    ],
)
def test_rejects_terms_that_make_no_sense(text: str) -> None:
    with pytest.raises(InvalidTask, match="the server's terms make no sense: "):
        Terms.parse(text)


@pytest.mark.parametrize(
    ("heldout", "n", "expected"),
    [(0.0, 100, 0), (0.1, 9, 0), (0.1, 10, 1), (0.1, 19, 1), (0.25, 21, 5), (0.5, 3, 1)],
)
def test_heldout_is_rounded_down(heldout: float, n: int, expected: int) -> None:
    terms = Terms.parse(changed("collection.heldout", heldout))
    mechanism = terms.mechanism()
    assert isinstance(mechanism, NoiseMechanism)
    assert mechanism.n_heldout(n) == expected


def test_a_mechanism_that_cannot_be_made_is_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(self: Terms) -> None:
        raise InvalidInput("t must lie in 1 … 3, found 4.")

    monkeypatch.setattr(Terms, "mechanism", reject)
    with pytest.raises(InvalidTask, match="make no sense: privacy must make a mechanism, but t"):
        Terms.parse(DIRECTION.text)


def test_check_ins_add_up_as_their_ledger_adds_them() -> None:
    assert TERMS.loss.times(20).total == pytest.approx(20 * TERMS.loss.total)
    every = Loss.sum([GAUSSIAN.event(10).loss] * 20)
    assert GAUSSIAN.loss.times(20).total == pytest.approx(every.total)
    assert GAUSSIAN.loss.times(20).total < 10 * GAUSSIAN.loss.total


def test_a_direction_hides_at_any_small_epsilon() -> None:
    text = task_file({"privacy.mechanism": '"direction"', "privacy.epsilon": "1e-6"})
    assert Task.from_toml(text).terms.promise.epsilon_per_person == pytest.approx(1e-6)


def sensed(every: float, epsilon: float, **changes: Any) -> Terms:
    sensor: dict[str, Any] = {"features__sensor.kind": "motion", "features__sensor.window": 64}
    spacing: dict[str, Any] = {"features__sensor.rate": 20, "features__sensor.every": every}
    return make_task(privacy__epsilon=epsilon, **sensor, **spacing, **changes).terms


@pytest.mark.parametrize(
    ("every", "shared"), [(30, 1), (4.15, 1), (4.1, 2), (3.2, 2), (1, 5), (0.05, 83), (0, 83)]
)
def test_readings_that_are_in_several_samples(every: float, shared: int) -> None:
    """Check windows of 64 readings, at 20 readings a second.

    One reading may stand for all the ticks of a second.
    """
    terms = sensed(every, 0.125)
    assert (terms.shared, terms.promise.epsilon_per_reading) == (shared, 0.125 * shared)
    changing = {"features__sensor.trigger": "label-change"}
    assert sensed(every, 0.125, **changing).shared == 1


def test_too_much_for_a_reading_is_not_private() -> None:
    assert sensed(1, 4.0).private
    terms = sensed(1, 4.1)
    assert not terms.private
    assert "It has ε = 20.5 for a reading" in str(terms.promise.sentences["not_private"])
    whole = sensed(1, 4.1, privacy__mechanism="direction")
    assert whole.private, "a person's ε is for all readings"
    spread = sensed(1, 1.0, privacy__mechanism="gaussian")
    rho = spread.event(3).loss.rho
    assert spread.promise.epsilon_per_reading == pytest.approx(epsilon_of(25 * rho, 1e-6))
