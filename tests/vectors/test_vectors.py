"""The package reproduces the stored vectors, which other implementations read too."""

import json
import re
from typing import Any

import numpy as np
import pytest

from tests.vectors.make import HERE, VECTORS, Case

STORED: dict[str, list[dict[str, Case]]] = {
    name: json.loads((HERE / f"{name}.json").read_text(encoding="utf-8")) for name in VECTORS
}
CASES = [
    pytest.param(name, pair["input"], pair["output"], id=f"{name}-{number}")
    for name, pairs in STORED.items()
    for number, pair in enumerate(pairs)
]


def same(found: Any, expected: Any) -> bool:
    """Exactly, also in type: 1 is not 1.0 in a message."""
    return json.dumps(found) == json.dumps(expected)


@pytest.mark.parametrize(("name", "case", "expected"), CASES)
def test_reproduced(name: str, case: Case, expected: Case) -> None:
    found = VECTORS[name][1](case)
    if name == "gradients":
        # Exponentials and the order of sums differ in the last bits between machines.
        for part in ("gradients", "mean"):
            a, b = np.array(found.pop(part)), np.array(expected[part])
            assert np.allclose(a, b, rtol=1e-12, atol=1e-14)
        expected = {key: value for key, value in expected.items() if key in found}
    if name == "sensing":
        for a, b in zip(found["taken"], expected["taken"], strict=True):
            assert np.allclose(a.pop("x"), b["x"], rtol=0, atol=1e-12 * np.abs(b["x"]).sum())
        expected = {"taken": [_without_x(sample) for sample in expected["taken"]]}
    assert same(found, expected)


def _without_x(sample: Case) -> Case:
    return {key: value for key, value in sample.items() if key != "x"}


@pytest.mark.parametrize("name", VECTORS)
def test_inputs_are_those_of_the_script(name: str) -> None:
    assert same([pair["input"] for pair in STORED[name]], VECTORS[name][0]())


def test_every_file_and_field_is_described() -> None:
    described = (HERE / "README.md").read_text(encoding="utf-8")
    assert {path.stem for path in HERE.glob("*.json")} == set(VECTORS)
    for name, pairs in STORED.items():
        section = described.split(f"## {name}.json")[1].split("\n## ")[0]
        words = set(re.findall(r"`(\w+)`", section))
        for pair in pairs:
            assert set(pair["input"]) | set(pair["output"]) <= words
