"""Test that the work of the one-file device does not depend on the samples, for any w.

Not by the clock: its floats are replaced by ones that count every operation with them, and none may
touch a number so close to 0 that processors take longer for it.
"""

import math
import sys
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from crowdml import one_file_device as standalone
from crowdml.privacy import bound_features
from crowdml.privacy.features import check_target
from tests.one_file_device.test_output import model, vectors

K = 16
CASES = [parameters.values for parameters in vectors("adversaries")]
PAIRS = list(zip(CASES[::2], CASES[1::2], strict=True))

work = Counter[str]()
slow = list[float]()


class Counted(float):
    """Count the operations with a float, and with every number computed from it."""


def counting(name: str) -> Any:
    def operate(self: Counted, *others: float) -> Any:
        found = getattr(float, name)(self, *others)
        work[name] += 1
        slow.extend(each for each in (self, *others, found) if 0 < abs(each) < sys.float_info.min)
        return Counted(found)

    return operate


for verb in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv"):
    setattr(Counted, f"__{verb}__", counting(f"__{verb}__"))


def exponential(value: float) -> Counted:
    work["exp"] += 1
    slow.extend(each for each in (math.exp(value),) if 0 < each < sys.float_info.min)
    return Counted(math.exp(value))


def watch(case: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[list[float], Counter[str]]:
    """Draw a direction; return what the loop over all directions read, and the total work."""
    functions = {name: getattr(math, name) for name in ("inf", "nan", "sqrt", "floor")}
    kept = SimpleNamespace(**functions, exp=exponential)
    read, rounded = list[float](), standalone.in_whole_numbers

    def look(u: list[float]) -> tuple[list[float], float]:
        whole, length = rounded([float(value) for value in u])  # puts uncounted zeros in
        read.extend(whole)
        return [Counted(value) for value in whole], length

    monkeypatch.setattr(standalone, "math", kept)
    monkeypatch.setattr(standalone, "in_whole_numbers", look)
    monkeypatch.setattr(standalone, "choose", lambda order, t, epsilon: order[0])
    more = {"k": K, "t": 3, "S": 0.1, "epsilon": 1.0, "regularization": case["regularization"]}
    samples: list[standalone.Sample] = [
        (
            [Counted(value) for value in bound_features(x, case["n_features"], 2)],
            check_target(y, case["n_classes"]),
        )
        for x, y in zip(case["x"], case["y"], strict=True)
    ]
    work.clear()
    slow.clear()
    w: list[float] = [Counted(value) for value in case["w"]]
    terms = model(case, **more)
    standalone.make_payload(terms, "here", w, samples, "train")
    standalone.count_right(terms, w, samples)
    return read, work.copy()


@pytest.mark.parametrize("pair", PAIRS, ids=[first[0]["pair"] for first, _ in PAIRS])
def test_both_sides_of_a_pair_are_the_same_work(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check all but the number of samples, which the slot of a check-in covers."""
    done = []
    for case, expected in pair:
        read, steps = watch(case, monkeypatch)
        monkeypatch.undo()
        assert read == expected["whole"]
        assert not slow or case["regularization"]
        # Of the loop alone: a product of each number of each codeword.
        assert steps["__mul__"] + steps["__rmul__"] > len(case["w"]) * K
        done.append(steps)
    if len(pair[0][0]["x"]) == len(pair[1][0]["x"]):
        assert done[0] == done[1]


def test_counting_finds_what_the_loop_must_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the unprotected gradient, to show that the counts above can fail."""
    monkeypatch.setattr(standalone, "SMALLEST_EXPONENT", -math.inf)
    monkeypatch.setattr(standalone, "in_whole_numbers", lambda u: (u, 1.0))
    read, _ = watch(CASES[0][0], monkeypatch)
    assert any(0 < abs(value) < sys.float_info.min for value in read)
    assert len(slow) > K


@pytest.mark.parametrize(("case", "expected"), vectors("rounding"))
def test_rounding(case: Any, expected: Any) -> None:
    slow.clear()
    whole, length = standalone.in_whole_numbers([Counted(value) for value in case["u"]])
    assert whole == expected["whole"]
    assert length == expected["length"]
    assert not slow
