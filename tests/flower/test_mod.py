"""Check with Flower's own messages that a client's update leaves as one direction."""

import math
import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.flower import DirectionMod
from crowdml.privacy import Loss
from tests.docs.pages import blocks, page

flwr_app = pytest.importorskip("flwr.app", reason="Flower is an optional extra, of its own weight")

SHAPES = {"weight": (4, 3), "bias": (3,), "scale": ()}
START = {name: np.full(shape, 0.5, np.float32) for name, shape in SHAPES.items()}
COUNTER = np.array(7, np.int64)
SIZE = 16
UP = np.linspace(1, 2, SIZE)
"""An update that is longer than the clipping norm in every test."""

S = 0.2


def record(update: Any = 0.0, **others: Any) -> Any:
    flat, at = np.broadcast_to(np.asarray(update, np.float64), SIZE), 0
    arrays: dict[str, Any] = {}
    for name, start in START.items():
        part = flat[at : at + start.size].reshape(start.shape)
        arrays[name], at = (start + part).astype(np.float32), at + start.size
    arrays |= {"batches": COUNTER, **others}
    return flwr_app.ArrayRecord({k: flwr_app.Array(np.asarray(v)) for k, v in arrays.items()})


def instruction(kind: str = "train", **records: Any) -> Any:
    content = flwr_app.RecordDict(records or {"arrays": record()})
    came = {"reply_to_message_id": "", "group_id": "1", "created_at": time.time(), "ttl": 3600}
    metadata = flwr_app.Metadata(1, "m", 1, 5, message_type=kind, **came)
    return flwr_app.Message(metadata=metadata, content=content)


def context(partition: int | None = 3) -> Any:
    config = {} if partition is None else {"partition-id": partition}
    return flwr_app.Context(1, 5, config, flwr_app.RecordDict(), {})


def app(update: Any = UP, **others: Any) -> Callable[[Any, Any], Any]:
    """Train, and send more about the data than allowed."""

    def train(message: Any, ctxt: Any) -> Any:
        metrics = flwr_app.MetricRecord({"num-examples": 61, "loss": 0.25})
        content = {"learnt": record(update, **others), "metrics": metrics}
        return flwr_app.Message(flwr_app.RecordDict(content), reply_to=message)

    return train


def step(reply: Any) -> Any:
    """Return what a reply adds to the parameters that were sent."""
    arrays = reply.content["arrays"]
    return np.concatenate([(arrays[n].numpy() - START[n]).astype(float).ravel() for n in SHAPES])


def mod(folder: Path, **settings: Any) -> DirectionMod:
    usual: dict[str, Any] = {"epsilon": 4.0, "rounds": 1, "clipping_norm": S, "folder": folder}
    return DirectionMod(**usual | settings)


def test_nothing_but_a_step_is_in_the_reply(tmp_path: Path) -> None:
    reply = mod(tmp_path)(instruction(), context(), app())
    assert list(reply.content) == ["arrays", "metrics"]
    assert dict(reply.content["metrics"]) == {"num-examples": 1}
    arrays = reply.content["arrays"]
    assert list(arrays) == [*SHAPES, "batches"]
    assert arrays["batches"].numpy() == COUNTER
    assert [arrays[name].numpy().dtype for name in SHAPES] == [np.float32] * 3
    assert [arrays[name].numpy().shape for name in SHAPES] == list(SHAPES.values())


def test_the_step_is_a_codeword(tmp_path: Path) -> None:
    """Check that a step is a multiple of small integers and contains nothing else of the update."""
    made = mod(tmp_path)
    found = step(made(instruction(), context(), app())) / made.mechanism(SIZE)._step
    np.testing.assert_allclose(found, np.rint(found), atol=1e-4)
    assert 0 < np.abs(found).max() <= 4.1


def test_on_average_it_is_the_update(tmp_path: Path) -> None:
    """Check that the mean step is the clipped update.

    The probability of a false alarm is below 1e-8: six standard deviations of the mean.
    """
    rounds = 200
    made = mod(tmp_path, epsilon=8.0 * rounds, rounds=rounds)
    steps = np.array([step(made(instruction(), context(), app())) for _ in range(rounds)])
    towards = UP / np.linalg.norm(UP)
    along = steps @ towards
    assert abs(along.mean() - S) < 6 * along.std() / math.sqrt(rounds)
    across = steps - along[:, None] * towards
    energy = made.mechanism(SIZE).noise_energy
    assert np.square(across.mean(axis=0)).sum() < 6 * energy / rounds
    assert np.square(across).sum(axis=1).mean() == pytest.approx(energy, rel=0.25)


def test_the_ledger_stops_it(tmp_path: Path) -> None:
    made, asked = mod(tmp_path, epsilon=6.0, rounds=2), Counter[str]()

    def train(message: Any, ctxt: Any) -> Any:
        asked["train"] += 1
        return app()(message, ctxt)

    replies = [made(instruction(), context(), train) for _ in range(3)]
    assert [reply.has_error() for reply in replies] == [False, False, True]
    assert "the device limit is ε = 6; 6 is spent" in replies[2].error.reason
    assert asked["train"] == 2, "an app that may not send is not asked"
    assert [event.loss for event in made.ledger(3).events] == [Loss(epsilon=3.0)] * 2
    assert mod(tmp_path, epsilon=6.0)(instruction(), context(), app()).has_error()
    other = made(instruction(), context(4), app())
    assert not other.has_error(), "other data have a ledger of their own"
    assert (tmp_path / "partition-3" / "participant.account").exists()


def test_without_a_partition_a_client_has_one_ledger(tmp_path: Path) -> None:
    made = mod(tmp_path)
    made(instruction(), context(None), app())
    assert made.ledger().epsilon_per_person == 4.0
    assert (tmp_path / "participant.account").exists()


def test_calls_at_once_spend_no_more(tmp_path: Path) -> None:
    made = mod(tmp_path, epsilon=9.0, rounds=3)
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: made(instruction(), context(), app()), range(8)))
    assert sum(not reply.has_error() for reply in replies) == 3
    assert [event.loss.epsilon for event in made.ledger(3).events] == [3.0] * 3


def test_the_example_in_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = blocks(page("docs/flower.md"), "python")
    exec(example, {})


def failing(message: Any, ctxt: Any) -> Any:
    raise ValueError("the person has no samples of label 3")


def error_of_its_own(message: Any, ctxt: Any) -> Any:
    return flwr_app.Message(flwr_app.Error(code=0, reason="secret"), reply_to=message)


@pytest.mark.parametrize(
    "broken",
    [
        failing,
        error_of_its_own,
        app(np.nan),
        app(UP * 1e300),
        app(weight=np.zeros(5)),
        lambda message, ctxt: flwr_app.Message(flwr_app.RecordDict(), reply_to=message),
    ],
)
def test_how_an_app_fails_is_not_sent(
    broken: Callable[[Any, Any], Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with np.errstate(over="ignore"):
        reply = mod(tmp_path)(instruction(), context(), broken)
    assert not reply.has_error()
    assert list(reply.content) == ["arrays", "metrics"]
    assert np.isfinite(step(reply)).all()
    assert "a random direction is sent" in caplog.text, "the client's log says so"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (lambda: instruction("evaluate"), "answers train messages alone, found evaluate"),
        (lambda: instruction("query"), "found query"),
        (lambda: instruction(a=record(), b=record()), "one ArrayRecord, .* found a, b"),
        (lambda: instruction(**{"fitins.parameters": record()}), "as for @app.train"),
        (lambda: instruction(arrays=flwr_app.ArrayRecord()), "arrays of floats"),
    ],
)
def test_what_cannot_be_hidden_is_rejected(
    message: Callable[[], Any], reason: str, tmp_path: Path
) -> None:
    made = mod(tmp_path)
    reply = made(message(), context(), failing)
    assert reply.has_error()
    assert reply.error.code == 6
    assert re.search(reason, reply.error.reason)
    assert made.ledger(3).events == ()


@pytest.mark.parametrize(
    "settings",
    [{"epsilon": 0.0}, {"epsilon": 50.0}, {"rounds": 0}, {"clipping_norm": 0.0}],
)
def test_wrong_settings_are_rejected(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        mod(tmp_path, **settings)
