"""The device written from the documents alone: a real server takes it for one of ours."""

import json
import math
import os
import random
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from crowdml.device.routines import summarize
from crowdml.privacy import bound_features
from crowdml.protocol import Task
from crowdml.types import Ints
from tests.examples.module import EXAMPLES, load
from tests.privacy.law import probability
from tests.servers import Process, create, make_task

PROGRAM = EXAMPLES / "minimal_device.py"
EVERYTHING: dict[str, Any] = {
    "collection__batch": 6,
    "collection__heldout": 0.34,
    "model__regularization": 0.01,
    "model__intercept": True,
    "optimizer__c": 1.0,
}
NUMBER: dict[str, Any] = {"target__labels": None, "model__clip": 1.5}
TASKS = {
    "softmax": make_task("softmax", **EVERYTHING),
    "hinge": make_task("hinge", model__kind="hinge", **EVERYTHING),
    "ridge": make_task("ridge", model__kind="ridge", **NUMBER, **EVERYTHING),
    "huber": make_task("huber", model__kind="huber", **NUMBER, **EVERYTHING),
    "plain": make_task("plain"),
    "naked": make_task("naked", privacy__epsilon=float("inf")),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("server"))
    create(process.database, *TASKS.values())
    yield process.start()
    assert process.stop() == 0, process.output


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load("minimal_device")


class Participant:
    """Somebody with the program, a file of samples and a file for its memory."""

    def __init__(self, folder: Path, server: Process, task: str) -> None:
        self.samples, self.state = folder / "samples.jsonl", folder / "state"
        self._arguments = [server.url, task, str(self.samples), str(self.state)]

    def write(self, *lines: str) -> None:
        self.samples.write_text("".join(f"{line}\n" for line in lines))

    def run(self, *options: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-I", str(PROGRAM), *self._arguments, *options],
            capture_output=True, text=True, timeout=60, env=os.environ | {"LC_ALL": "C.UTF-8"},
        )  # fmt: skip


def sample(rng: np.random.Generator, task: Task) -> str:
    y = int(rng.integers(3)) if task.terms.n_classes else float(rng.normal())
    return json.dumps({"x": rng.normal(size=4).tolist(), "y": y})


@pytest.mark.parametrize("kind", ["softmax", "hinge", "ridge", "huber", "plain"])
def test_a_real_server_applies_all_of_it(
    tmp_path: Path, server: Process, example: ModuleType, kind: str
) -> None:
    """At an honest chance of 1e-9 a message, the gate refuses nothing here."""
    task, rng = TASKS[kind], np.random.default_rng(1)
    batch = task.terms.collection.batch
    someone = Participant(tmp_path, server, kind)
    bad = ["nonsense", '{"x": [1], "y": 0}', '{"x": [NaN, 0, 0, 0], "y": 0}']
    someone.write(*(sample(rng, task) for _ in range(3 * batch + 1)), *bad)
    ran = someone.run()
    assert ran.returncode == 0, ran.stderr
    told = [line for line in ran.stdout.splitlines() if line.startswith("check-in ")]
    assert [": applied, version " in line for line in told] == [True] * 3
    assert ran.stdout.endswith(f"no more lines; 1 of {batch} samples wait in the buffer\n")
    assert [line.startswith("line ") for line in ran.stderr.splitlines()] == [True] * 3
    with server.store() as store:
        log = list(store.log(store.task(kind).id))
    assert [entry.samples for entry in log] == [batch] * 3
    assert [entry.heldout for entry in log] == [task.terms.collection.n_heldout(batch)] * 3
    spent = float(json.loads(_memory(example, someone.state))["ledger"][0] and told[-1].split()[-1])
    assert spent == pytest.approx(3 * task.terms.epsilon_per_sample)
    _resend(example, server, someone, task)
    assert someone.run("--leave").returncode == 0
    assert not someone.state.exists()


def _memory(example: ModuleType, file: Path) -> str:
    state = example.State(str(file))
    text = json.dumps(state)
    state.database.close()
    return text


def _resend(example: ModuleType, server: Process, someone: Participant, task: Task) -> None:
    """A power cut after the answer, before it was noted: the same bytes are sent again."""
    state = example.State(str(someone.state))
    terms = example.Terms(state["terms"])
    wire = example.Server(f"{server.url}/v1/tasks/{task.name}", state["token"])
    version, w = wire.check_out(terms)
    assert any(w)
    samples = [([0.1, 0.2, 0.3, 0.4], 1.0)] * terms.batch
    told = json.dumps(example.message(terms, version, w, samples))
    for expected in ("applied", "duplicate"):
        state.save(outbox=told)
        state.database.close()
        ran = someone.run()
        assert ran.returncode == 0, ran.stderr
        assert f": {expected}, version {version + 1};" in ran.stdout
        state = example.State(str(someone.state))
        assert state["outbox"] is None
    state.database.close()
    with server.store() as store:
        assert len(store.log(store.task(task.name).id)) == version + 1


def test_no_privacy_must_be_accepted(tmp_path: Path, server: Process) -> None:
    task, rng = TASKS["naked"], np.random.default_rng(2)
    someone = Participant(tmp_path, server, "naked")
    someone.write(*(sample(rng, task) for _ in range(3)))
    refused = someone.run()
    assert refused.returncode == 1
    assert "THIS TASK ADDS NO NOISE" in refused.stderr
    accepted = someone.run("--device-limit", "inf")
    assert accepted.returncode == 0, accepted.stderr
    assert "check-in 1: applied" in accepted.stdout


def test_a_limit_stops_it(tmp_path: Path, server: Process) -> None:
    task, rng = TASKS["plain"], np.random.default_rng(3)
    someone = Participant(tmp_path, server, "plain")
    someone.write(*(sample(rng, task) for _ in range(9)))
    ran = someone.run("--device-limit", "2")
    assert ran.returncode == 0
    assert ran.stdout.count(": applied") == 2
    assert ran.stdout.endswith("the limit of ε = 2 is reached; 3 samples stay here\n")


# What it computes


class Nothing:
    """No noise, where noise would be."""

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return values


@pytest.mark.parametrize("kind", ["softmax", "hinge", "ridge", "huber"])
@pytest.mark.parametrize("n", [6, 7, 29])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 300.0, math.inf])
@pytest.mark.parametrize("heldout", [0.0, 0.34])
def test_the_same_message(
    monkeypatch: pytest.MonkeyPatch, kind: str, n: int, epsilon: float, heldout: float
) -> None:
    """Two programs, one document. Without noise even the gradients agree, but for a rounding."""
    example = load("minimal_device")
    monkeypatch.setattr(example, "discrete_laplace", lambda epsilon, sensitivity: 0)
    changes = EVERYTHING | (NUMBER if kind in ("ridge", "huber") else {})
    changes |= {"privacy__epsilon": epsilon, "collection__heldout": heldout}
    task = make_task(kind, model__kind=kind, **changes)
    terms, theirs = task.terms, example.Terms(task.terms.text)
    rng = np.random.default_rng(n)
    lines = [sample(rng, task) for _ in range(n)]
    samples = [example.read_sample(theirs, line) for line in lines]
    documents = [json.loads(line) for line in lines]
    x = np.array([bound_features(document["x"], 4) for document in documents])
    y = np.array([float(document["y"]) for document in documents])
    np.testing.assert_allclose([x for x, _ in samples], x, rtol=1e-15)
    sanitizer, model = terms.sanitizer(), terms.make_model()
    w = rng.normal(size=model.size).astype(np.float32).astype(np.float64)
    message = example.message(theirs, 17, w.tolist(), samples)
    h = terms.collection.n_heldout(n)
    assert (message["samples"], message["heldout"], message["version"]) == (n, h, 17)
    assert message["grid"] == sanitizer.grid(n - h)
    assert len(message["labels"]) == terms.n_classes
    gradient = np.frombuffer(b64decode(message["gradient"]), dtype="<i4")
    assert len(gradient) == sanitizer.size
    assert theirs.cost(n) == pytest.approx(terms.event(n).per_sample)
    if h == 0:
        summary = summarize(model, w, x, y, np.zeros(n, dtype=np.bool_), sanitizer.clip)
        ours = sanitizer.sanitize(summary, w, terms.event(n), Nothing())
        assert np.abs(gradient - ours.gradient).max() <= 1
        assert message["errors"] == ours.n_errors
        assert message["labels"] == ours.n_labels.tolist()


# Its noise


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"),
    [(Fraction(1), 2), (Fraction(3, 2), 1), (Fraction(1, 7), 1), (Fraction(0.9), 2**20 + 5)],
    ids=["2", "2/3", "7", "a million"],
)
def test_its_noise_has_the_right_law(epsilon: Fraction, sensitivity: int) -> None:
    """Chi-square over bins of a fifth of the scale, up to five scales away.

    False-positive rate: 1e-9 a case, 4e-9 in all. The generator is seeded, so the
    test is the same every time.
    """
    example = load("minimal_device")
    seeded = random.Random(29)
    example.secrets = SimpleNamespace(randbelow=seeded.randrange)  # type: ignore[attr-defined]
    n_draws, scale = 20_000, sensitivity / float(epsilon)
    draws = np.array([example.discrete_laplace(epsilon, sensitivity) for _ in range(n_draws)])
    edges = sorted({round(sign * scale * k / 5) for k in range(26) for sign in (-1, 1)})
    expected = n_draws * np.diff([0.0, *(_cumulative(edge, scale) for edge in edges), 1.0])
    found = np.bincount(np.searchsorted(edges, draws), minlength=len(edges) + 1)
    assert expected.min() > 5
    statistic = ((found - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(1e-9, len(edges))


def _cumulative(k: int, scale: float) -> float:
    """P(z ≤ k) = e^(k/s)/(1 + e^(−1/s)) for k < 0, and by symmetry above."""
    if k >= 0:
        return 1.0 - _cumulative(-k - 1, scale)
    return math.exp(k / scale) / (1.0 + math.exp(-1.0 / scale))


def test_the_law_that_it_is_compared_with() -> None:
    for k in range(-9, 9):
        total = math.fsum(probability(z, 2.0) for z in range(-200, k + 1))
        assert _cumulative(k, 2.0) == pytest.approx(total, rel=1e-12)


def test_no_noise_only_where_it_is_infinite(example: ModuleType) -> None:
    assert example.discrete_laplace(math.inf, 7) == 0
    assert example.exact("inf") == math.inf
    assert example.exact(0.1) == Fraction(0.1)
