"""Doors for bytes from outside refuse with an error of their own, or let in, and nothing else.

`FUZZED=100000 pytest tests/protocol/test_fuzzing.py` tries so many inputs at each.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

fuzzing = pytest.importorskip(
    "tests.protocol.fuzzing", reason="atheris is not made for this system"
)

ROOT = Path(__file__).parents[2]
FUZZED = os.environ.get("FUZZED", "1000")


@pytest.mark.parametrize("door", ["codec", "task", "terms"])
def test_door(door: str, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "seed").write_bytes(fuzzing.SEEDS[door])
    command = [
        sys.executable,
        "-m",
        "tests.protocol.fuzzing",
        door,
        f"-runs={FUZZED}",
        f"-artifact_prefix={tmp_path}/",
    ]
    ended = subprocess.run(
        [*command, str(corpus)], cwd=ROOT, capture_output=True, text=True, timeout=3000
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert f"Done {FUZZED} runs" in ended.stderr
