"""Test that a check-in's work does not depend on the samples, for any w that a server sends.

Instead of measuring time, the tests count every operation on arrays. No operation may touch a
number so close to 0 that processors take longer for it.
"""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tests.vectors
from crowdml.device.personal_accuracy import count_right
from crowdml.models import MODELS, Minibatch
from crowdml.privacy import CheckinKey, Codebook, DirectionMechanism, SystemChance, bound_features
from crowdml.privacy.direction.codebook import LARGEST_WHOLE, in_whole_numbers
from crowdml.privacy.features import check_target
from crowdml.types import Array

VECTORS = Path(next(iter(tests.vectors.__path__)))
CASES = [
    each["input"] for each in json.loads((VECTORS / "adversaries.json").read_text(encoding="utf-8"))
]
PAIRS = list(zip(CASES[::2], CASES[1::2], strict=True))

HARMLESS = {"absolute", "greater_equal", "less", "maximum", "isfinite"}
"""Operations that compare, or change a bit, and take the same time for every number."""

work = Counter[str]()
slow = list[str]()


class Counted(np.ndarray):
    """Count the operations on an array and on everything computed from it."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        given = [plain(each) for each in inputs]
        if out := more.get("out"):
            more["out"] = tuple(plain(each) for each in out)
        found = getattr(ufunc, method)(*given, **more)
        work[f"{ufunc.__name__} {method}"] += max(np.size(each) for each in [*given, found])
        if ufunc.__name__ not in HARMLESS and any(map(has_subnormals, [*given, found])):
            slow.append(ufunc.__name__)
        return counted(found)

    def __array_function__(self, function: Any, _: Any, inputs: Any, more: Any) -> Any:
        given = [plain(each) for each in inputs]
        work[function.__name__] += max(map(np.size, given))
        return counted(function(*given, **more))


def plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Counted) else value


def counted(value: Any) -> Any:
    return value.view(Counted) if isinstance(value, np.ndarray) else value


def has_subnormals(value: Any) -> bool:
    numbers = np.abs(np.asarray(value, dtype=float))
    return bool(((numbers > 0) & (numbers < np.finfo(float).tiny)).any())


def watch(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Array], Counter[str]]:
    """Check a minibatch in; return what the loop over all directions read, and all the work."""
    settings = {name: case[name] for name in ("tolerance", "delta")}
    dimensions = case["n_features"], case["n_classes"], case["intercept"]
    model = MODELS[case["kind"]].model(*dimensions, **settings)
    made = DirectionMechanism(
        1.0, 16, 3, size=model.size, n_classes=case["n_classes"],
        regularization=case["regularization"],
    )  # fmt: skip
    x = np.array([bound_features(row, case["n_features"], 2) for row in case["x"]])
    y = np.array([check_target(each, case["n_classes"]) for each in case["y"]])
    w = np.array(case["w"], dtype=float)
    read, scores = list[Array](), Codebook.scores

    def look(self: Codebook, whole: Array, k: int) -> Array:
        read.append(np.array(plain(whole)))
        return scores(self, whole, k)

    monkeypatch.setattr(Codebook, "scores", look)
    work.clear()
    slow.clear()
    key = CheckinKey("00", "ana", 1)
    minibatch = Minibatch(model, counted(w), counted(x), counted(y))
    made.make_payload(minibatch, made.event(len(x), key), key, SystemChance())
    count_right(model, counted(w), counted(x), counted(y))
    return read, work.copy()


@pytest.mark.parametrize("pair", PAIRS, ids=[first["pair"] for first, _ in PAIRS])
def test_both_sides_of_a_pair_are_the_same_work(
    pair: tuple[dict[str, Any], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check equal work, except for the number of samples, which the slot of a check-in covers."""
    done = []
    for case in pair:
        (whole,), steps = watch(case, monkeypatch)
        monkeypatch.undo()
        assert (whole == np.round(whole)).all()
        assert (np.abs(whole) <= LARGEST_WHOLE).all()
        assert set(slow) <= ({"add", "multiply"} if case["regularization"] else set())
        assert steps["vecdot __call__"] > 16
        done.append(steps)
    if len(pair[0]["x"]) == len(pair[1]["x"]):
        assert done[0] == done[1]


def test_counting_finds_what_the_loop_must_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the counts above can fail, by using the gradient without rounding."""
    monkeypatch.setattr("crowdml.models.softmax.SMALLEST_EXPONENT", -math.inf)
    monkeypatch.setattr(
        "crowdml.privacy.direction.channel.in_whole_numbers", lambda u: (u, float(np.sum(u)))
    )
    (u,), _ = watch(CASES[0], monkeypatch)
    assert has_subnormals(u)
    assert "vecdot" in slow


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_rounding_loses_little(size: int) -> None:
    """Check that each number loses at most half of 2⁻¹⁶ of the largest number."""
    u = np.random.default_rng(size).normal(size=size) * 1e-9
    whole, length = in_whole_numbers(u)
    unit = np.abs(u).max() / LARGEST_WHOLE
    assert np.abs(u - unit * whole).max() <= 0.5 * unit * (1 + 1e-9)
    assert length == pytest.approx(np.linalg.norm(u), rel=1e-4)


def test_scores_are_exact() -> None:
    """Check exact scores where all numbers are as large as possible and a codeword is long."""
    size = 30_000
    book, whole = Codebook(size, CheckinKey("00", "ana", 1)), np.full(size, float(LARGEST_WHOLE))
    whole[::3] -= 1
    words = [book.codeword(j) for j in range(20)]
    assert book.scores(whole, 20).tolist() == [int(word @ whole.astype(np.int64)) for word in words]
