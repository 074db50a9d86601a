"""Check that the package reproduces the stored vectors, which other implementations read too."""

import json
import math
import re
from typing import Any

import pytest

from tests.vectors.compute import Case
from tests.vectors.make import HERE, VECTORS

STORED: dict[str, list[dict[str, Case]]] = {
    name: json.loads((HERE / f"{name}.json").read_text(encoding="utf-8")) for name in VECTORS
}


def same(found: Any, expected: Any) -> bool:
    """Compare values and their types, since 1 is not 1.0 in a message.

    Only floats may differ, in their last bits: exponentials, logarithms and the order of sums
    differ between machines.
    """
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12)
    if isinstance(found, dict) and isinstance(expected, dict):
        return list(found) == list(expected) and same(list(found.values()), list(expected.values()))
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return type(found) is type(expected) and bool(found == expected)


@pytest.mark.parametrize("name", VECTORS)
def test_reproduced(name: str) -> None:
    for number, pair in enumerate(STORED[name]):
        found, expected = VECTORS[name][1](pair["input"]), pair["output"]
        if name == "choice":
            # The last bit of an exponential is worth 2¹¹ of the coin's 2⁶⁴.
            assert abs(int(found["coin"]) - int(expected["coin"])) <= 2**11, number
        else:
            assert same(found, expected), number


@pytest.mark.parametrize("name", VECTORS)
def test_inputs_are_those_of_the_script(name: str) -> None:
    assert same([pair["input"] for pair in STORED[name]], VECTORS[name][0]())


def test_every_file_and_field_is_described() -> None:
    described = (HERE / "README.md").read_text(encoding="utf-8")
    assert {path.stem for path in HERE.glob("*.json")} == {"behaviour", *VECTORS}
    for name, pairs in STORED.items():
        section = described.split(f"## {name}.json")[1].split("\n## ")[0]
        words = set(re.findall(r"`(\w+)`", section))
        for pair in pairs:
            assert set(pair["input"]) | set(pair["output"]) <= words
