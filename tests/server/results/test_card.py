"""Test the model card: read by hubs as YAML, by people as text, and true in both."""

from typing import Any

import msgspec
import pytest
import yaml

from crowdml.errors import Rejected
from crowdml.protocol import Task, error_in_words, terms_hash
from crowdml.server import Store
from crowdml.server.log.learner import Learner
from crowdml.server.results.card import model_card
from crowdml.server.results.task_view import current_statistics
from tests.server.known_crowds import people
from tests.server.learners import arrivals, ingest_now, new_learner
from tests.support.servers import make_direction_task, make_task

NUMBER: dict[str, Any] = {
    "model__kind": "ridge", "model__clip": 1.0, "model__tolerance": 0.25, "target__labels": None
}  # fmt: skip


def learner_of(store: Store, task: Task, checkins: int = 9, devices: int = 3) -> Learner:
    learner = new_learner(store, task, n=devices)
    incoming = arrivals(task, checkins, people(task, devices))
    ingest_now(learner, incoming, group=1 + checkins // 30)
    return learner


def parts(card: str) -> tuple[dict[str, Any], str]:
    """Split a card into its head, as a hub reads it, and its text."""
    start, head, text = card.split("---\n", 2)
    assert start == ""
    return yaml.safe_load(head), text


def test_an_owner_writes_no_html(store: Store) -> None:
    """Check that an owner's text adds no HTML, link, image or heading to the card on a hub."""
    evil = "<img src=x> & ![x](https://evil.example)\n\n# NOT A HEADING"
    task, replace = make_task(), msgspec.structs.replace
    features = replace(task.terms.features, description=evil)
    terms = replace(task.terms, owner=evil, purpose=evil, sensors=evil, features=features)
    task = replace(task, title=evil.partition("\n")[0], objective=evil, terms=terms)
    _, text = parts(model_card(learner_of(store, task)))
    assert "<" not in text
    assert "[" not in text.replace("\\[", "")
    assert text.count("&lt;img src=x> &amp; !\\[x](https://evil.example)") == 6
    assert "\n# NOT" not in text


def test_what_a_hub_reads(store: Store) -> None:
    task = make_task(__title='Still: "or" walking? # yes', privacy__epsilon=10.0)
    learner = learner_of(store, task, 300, devices=30)
    head, text = parts(model_card(learner))
    assert head["crowdml"] == {
        "task": "activity",
        "version": 300,
        "devices": 30,
        "mechanism": "laplace",
        "epsilon": 10.0,
        "delta": 0.0,
        "unit": "sample",
        "terms_sha256": terms_hash(task.terms.text),
    }
    assert (head["license"], head["library_name"]) == ("unknown", "crowdml")
    assert head["pipeline_tag"] == "tabular-classification" in head["tags"]
    (index,) = head["model-index"]
    (result,) = index["results"]
    assert result["task"]["name"] == task.title
    (metric,) = result["metrics"]
    now = current_statistics(learner)
    estimate = now.error
    assert estimate is not None
    assert now.error_text == str(error_in_words(estimate))
    assert 0 < now.reports <= now.version
    assert metric["type"] == head["metrics"][0] == "accuracy"
    assert metric["value"] == pytest.approx(1 - (estimate.low + estimate.high) / 2, abs=1e-4)
    assert f"{error_in_words(estimate)}" in metric["name"]
    assert text.startswith(f"\n# {task.title}\n")


def test_what_people_read(store: Store) -> None:
    task = make_direction_task(
        privacy__epsilon=300.0, collection__checkins=30, collection__evaluators=0.3
    )
    text = parts(model_card(learner_of(store, task, 300, devices=30)))[1]
    for passage in (
        "learnt from 300 check-ins of 30 devices.",
        "Your device sends numbers from which your samples can be worked out.",
        task.terms.owner, task.terms.contact, task.terms.purpose, "- **Answer**: still, walk, run.",
        "with 95 % confidence", "That is a wide range.", "ε = 300, for everything that you send",
        "**ε** = 300.0, **δ** = 0, for one person.", terms_hash(task.terms.text),
        "## Limits of use", 'load_model("activity.npz")',
    ):  # fmt: skip
        assert passage in text
    assert "NOT PRIVATE.** It has ε = 300 for a person" in text


def test_numbers_and_no_privacy(store: Store) -> None:
    task = make_task(privacy__epsilon=float("inf"), **NUMBER)
    head, text = parts(model_card(learner_of(store, task, 90, devices=30)))
    assert head["pipeline_tag"] == "tabular-regression"
    assert head["metrics"] == ["within-tolerance"]
    assert head["crowdml"]["epsilon"] == "inf"
    assert "**NOT PRIVATE.** It sends numbers from which your samples can be worked out" in text
    assert "never leave" not in text
    assert "are off by more than 0.25" in text
    assert "- **Answer**: a number." in text


def test_an_error_that_is_not_known(store: Store) -> None:
    """Check a card if nobody has counted errors, or too few for a band below the whole range."""
    for task in (
        make_direction_task(collection__evaluators=0.0, collection__counters=0.0),
        make_task("noisy"),
    ):
        head, text = parts(model_card(learner_of(store, task)))
        assert not {"metrics", "model-index"} & set(head)
        assert "Not known: too few check-ins have counted errors" in text


def test_no_card_for_what_has_learnt_nothing(store: Store) -> None:
    with pytest.raises(Rejected, match="activity has learnt nothing yet"):
        model_card(learner_of(store, make_task(), checkins=0))
