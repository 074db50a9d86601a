"""Test what the one-file device computes and sends: the shared vectors, and its randomness."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tests.vectors
from crowdml import one_file_device as standalone
from crowdml.privacy import CheckinKey, Choice, Codebook
from crowdml.privacy.choice import COIN
from crowdml.privacy.direction.channel import PROBABILITY_STEPS
from crowdml.protocol import Terms, terms_hash
from tests.support.servers import make_task

VECTORS = Path(next(iter(tests.vectors.__path__)))
Draws = Callable[..., None]

NO_COLUMNS = {"names": [], "center": [], "scale": [], "length": 1.0, "missing": "reject"}


def vectors(name: str, concern: Callable[[Any], object] = lambda case: True) -> list[Any]:
    """Return the cases that concern this device."""
    cases = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    own = [pytest.param(case["input"], case["output"]) for case in cases if concern(case)]
    assert own
    return own


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> Draws:
    """Give the program its random draws from a list."""

    def give(*numbers: int) -> None:
        left = list(numbers)

        def below(n: int) -> int:
            assert 0 <= left[0] < n
            return left.pop(0)

        chance = SimpleNamespace(randbelow=below)
        monkeypatch.setattr(standalone, "secrets", chance)

    return give


def model(case: dict[str, Any], **more: Any) -> Any:
    """Make the part of the terms that the models read."""
    names = ("kind", "intercept", "delta", "tolerance")
    d = max(case["n_classes"], 1) * (case["n_features"] + case["intercept"])
    sizes = {
        "D": case["n_features"],
        "C": case["n_classes"],
        "K": max(case["n_classes"], 1),
        "d": d,
    }
    return SimpleNamespace(**{name: case[name] for name in names}, **sizes, **more)


# The shared vectors


@pytest.mark.parametrize(("case", "expected"), vectors("codebooks"))
def test_codebooks(case: dict[str, Any], expected: dict[str, Any]) -> None:
    key = "{terms_sha256}\n{device}\n{number}".format(**case)
    words = list(standalone.codebook(key, case["size"], case["directions"]))
    assert [words[j] for j in case["which"]] == expected["codewords"]
    scores = np.array(words) @ np.array(case["u"])
    np.testing.assert_allclose(scores, expected["scores"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("case", "expected"), vectors("results"))
def test_what_the_participant_is_told(case: Any, expected: Any) -> None:
    said = standalone.describe_personal_accuracy(case["tallies"], case["tolerance"])
    assert (said or None) == expected["personal_accuracy"]
    assert standalone.shares_over_time(case["tallies"]) == expected["shares_over_time"]
    names = ("value", "margin")
    error = case["error"] and dict(zip(names, case["error"], strict=True))
    now = {"state": case["state"], "version": case["version"], "error": error}
    assert standalone.describe_contribution(case["mine"], now, case["errors"]) == expected["became"]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("checkins,error,margin\r\n20,0.25,0.1\r\n", [[20, 0.25, 0.1]]),
        ("checkins,error,margin\n", []), ("", []), ("a,b\n1,2\n", None), ("a\n1,2,x\n", None),
        ("a\n1,nan,0.1\n", None), ("a\n-1,0.5,0.1\n", None), ("a\n1,0.5,-1\n", None),
    ],
)  # fmt: skip
def test_errors_over_time_are_read(table: str, expected: Any) -> None:
    if expected is None:
        with pytest.raises(standalone.DeviceError, match="no sense"):
            standalone.read_errors(table)
    else:
        assert standalone.read_errors(table) == expected


@pytest.mark.parametrize(("case", "expected"), vectors("roles"))
def test_roles(case: dict[str, Any], expected: dict[str, Any]) -> None:
    key = "{terms_sha256}\n{device}\n{number}".format(**case)
    assert standalone.role_of(SimpleNamespace(**case), key) == expected["role"]  # type: ignore[arg-type]


@pytest.mark.parametrize(("case", "expected"), vectors("choice"))
def test_coins(case: dict[str, Any], expected: dict[str, Any], draws: Draws) -> None:
    """Allow for the last bit of an exponential, which is worth 2¹¹ of the coin's 2⁶⁴."""
    k, t, coin = case["k"], case["t"], int(expected["coin"])
    if coin > 2**11:
        draws(coin - 2**11 - 1, t - 1)
        assert standalone.choose(list(range(k)), t, case["epsilon"]) == t - 1
    if coin + 2**11 < COIN:
        draws(coin + 2**11, k - t - 1)
        assert standalone.choose(list(range(k)), t, case["epsilon"]) == k - 1


@pytest.mark.parametrize(("case", "expected"), vectors("gradients"))
def test_gradients(case: dict[str, Any], expected: dict[str, Any]) -> None:
    terms, w = model(case), case["w"]
    for x, y, g in zip(case["x"], case["y"], expected["gradients"], strict=True):
        np.testing.assert_allclose(standalone.mean_gradient(terms, w, [(x, y)]), g, rtol=1e-12)
    everything = list(zip(case["x"], case["y"], strict=True))
    mean = standalone.mean_gradient(terms, w, everything)
    np.testing.assert_allclose(mean, np.mean(expected["gradients"], axis=0), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("case", "expected"), vectors("gradients"))
def test_mistakes(case: dict[str, Any], expected: dict[str, Any], draws: Draws) -> None:
    terms, samples = model(case, epsilon=1.0), list(zip(case["x"], case["y"], strict=True))
    for i, (_, y) in enumerate(samples):
        draws(i, 0, 0)
        payload = standalone.make_payload(terms, "here", case["w"], samples, "evaluate")
        assert payload == {"wrong": expected["mistakes"][i]}
        if terms.C:
            draws(i, 0, 0)
            payload = standalone.make_payload(terms, "here", case["w"], samples, "count")
            assert payload == {"answer": int(y)}


@pytest.mark.parametrize(("role", "k"), [("evaluate", 2), ("count", 3)])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_responses(role: str, k: int, epsilon: float, draws: Draws) -> None:
    """Check that the truth is sent if the coin decides so, else each other number equally often."""
    sizes = {"D": 1, "C": 3, "K": 3, "d": 3, "kind": "softmax", "intercept": False}
    terms: Any = SimpleNamespace(epsilon=epsilon, **sizes)
    # The model prefers label 0, so label 2 is predicted wrongly.
    w, samples = [1.0, 0.0, 0.0], [([1.0], 2.0)]
    truth, field = (1, "wrong") if role == "evaluate" else (2, "answer")
    coin = Choice(k, 1, epsilon).coin
    draws(0, coin - 1, 0)
    assert standalone.make_payload(terms, "here", w, samples, role) == {field: truth}
    others = set()
    for i in range(k - 1):
        draws(0, coin, i)
        others.add(standalone.make_payload(terms, "here", w, samples, role)[field])
    assert others == set(range(k)) - {truth}


L2 = vectors("features", lambda case: case["input"]["norm"] == 2)
MESSAGES = vectors("messages", lambda case: "number" in case["output"]["message"])


@pytest.mark.parametrize(("case", "expected"), vectors("labels"))
def test_labels(
    case: dict[str, Any], expected: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    given: Any = {**NO_COLUMNS, "labels": case["labels"]}
    terms: Any = SimpleNamespace(D=1, C=len(case["labels"]), columns=["a column"], **given)
    y, lines = json.loads(case["written"]), [f'{{"x": [0.5], "y": {case["written"]}}}']
    lines += [f"0.5,{y}"] if isinstance(y, str) else []
    for line in lines:
        layout = standalone.Layout(terms, "s", line)
        if expected["target"] is None:
            with pytest.raises((TypeError, ValueError)):
                layout.sample(line)
        else:
            assert layout.sample(line) == ([0.5], expected["target"])


@pytest.mark.parametrize(("case", "expected"), L2)
def test_features(case: dict[str, Any], expected: dict[str, Any]) -> None:
    given: Any = {**NO_COLUMNS, **case.get("features", {})}
    terms: Any = SimpleNamespace(D=len(case["x"]), columns=["a column"] * len(case["x"]), **given)
    if expected["bounded"] is None:
        with pytest.raises(ValueError, match="finite number"):
            standalone.features(terms, case["x"])
    else:
        x = standalone.features(terms, case["x"])
        np.testing.assert_allclose(x, expected["bounded"], rtol=1e-14)


@pytest.mark.parametrize(("case", "expected"), MESSAGES)
def test_messages(
    case: dict[str, Any], expected: dict[str, Any], draws: Draws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check the number from a minibatch; vectors draw from the best in ascending order."""
    choose = standalone.choose
    monkeypatch.setattr(
        standalone, "choose", lambda o, t, e: choose(sorted(o[:t]) + sorted(o[t:]), t, e)
    )
    # The vectors leave out what has a default; a server does not.
    terms = standalone.Terms(Terms.parse(case["terms"]).text, "vectors")
    assert expected["loss"] == terms.epsilon
    key = f"{terms_hash(case['terms'])}\n{case['device']}\n{case['number']}"
    draws(*map(int, case["draws"]))
    samples = list(zip(case["x"], case["y"], strict=True))
    role = standalone.role_of(terms, key)
    payload = standalone.make_payload(terms, key, case["w"], samples, role)
    assert payload.items() <= expected["message"].items()


@pytest.mark.parametrize(("case", "expected"), vectors("terms"))
def test_terms(case: dict[str, Any], expected: dict[str, Any]) -> None:
    task = json.loads(expected["text"])["task"]
    if '"mechanism": "direction"' in expected["text"]:
        found = standalone.Terms(expected["text"], task)
        assert (found.sha256, found.slots) == (expected["sha256"], expected["slots"])
    else:
        with pytest.raises(standalone.DeviceError, match="Install crowdml"):
            standalone.Terms(expected["text"], task)


DIRECTED = vectors("agreements", lambda case: '"mechanism": "direction"' in case["input"]["terms"])


@pytest.mark.parametrize(("case", "expected"), DIRECTED)
def test_agreements(case: dict[str, Any], expected: dict[str, Any]) -> None:
    if not expected["accepted"]:
        with pytest.raises(standalone.DeviceError, match="Do not join"):
            standalone.Terms(case["terms"], "vectors")
        return
    terms = standalone.Terms(case["terms"], "vectors")
    assert ("not_private" not in standalone.promise(terms)) == expected["private"]
    assert (terms.epsilon, terms.total) == (expected["per_sample"], expected["per_device"])


# Beyond them


def test_far_words_of_a_large_codebook() -> None:
    (*_, last) = standalone.codebook("00\nana\n1", 2**16 + 1, 3)
    assert last == Codebook(2**16 + 1, CheckinKey("00", "ana", 1)).codeword(2).tolist()


@pytest.mark.parametrize("epsilon", [1e-12, 0.01, 4.0, 39.9])
@pytest.mark.parametrize(("k", "t"), [(2, 1), (9, 4), (1024, 67), (4096, 4095)])
def test_every_number_has_one_of_two_probabilities(
    draws: Draws, k: int, t: int, epsilon: float
) -> None:
    """Check that the coin is the package's, and that both draws reach all their numbers."""
    order, coin = list(range(k))[::-1], Choice(k, t, epsilon).coin
    best, others = set(), set()
    for i in range(t):
        draws(coin - 1, i)
        best.add(standalone.choose(order, t, epsilon))
    for i in range(k - t):
        draws(coin, i)
        others.add(standalone.choose(order, t, epsilon))
    assert best == set(order[:t])
    assert others == set(order[t:])


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 1.0, 7.0])
def test_a_short_gradient_is_turned_round_at_times(
    share: float, draws: Draws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check the probability (1 − ‖u‖/S)/2, which is 0 where u is as long as S."""
    task = make_task(privacy__mechanism="direction", model__kind="ridge", target__labels=None)
    terms = standalone.Terms(task.terms.text, task.name)
    assert math.isclose(terms.S, task.terms.mechanism().length)
    u = [share * terms.S * value / 3 for value in (2.0, 0.0, -1.0, 2.0)]
    scores = [np.dot(v, [2.0, 0.0, -1.0, 2.0]) for v in standalone.codebook("here", 4, terms.k)]
    monkeypatch.setattr(standalone, "choose", lambda order, t, epsilon: order[0])
    probability = max(0.0, 1 - share) / 2
    for draw in (0.0, probability - 0.001, probability + 0.001, 0.999):
        if draw >= 0:
            draws(int(draw * PROBABILITY_STEPS))
            found = scores[standalone.direction(terms, "here", u)]
            assert found == (min(scores) if draw < probability else max(scores))
