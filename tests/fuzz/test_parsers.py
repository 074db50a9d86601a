"""Check that parsers of outside bytes accept an input, or raise an error of crowdml's own.

`make fuzz` searches for inputs that do otherwise, for as long as wanted.
"""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.parsers import PARSERS, enter

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).with_name("corpus")
CHANGES = 40
ODD = (b"\0", b"\xff", b"{", b'"', b"\n", b"9" * 20, b"1e999", b"nan", b"-", b",", b"\xef\xbb\xbf")


def test_every_parser_has_inputs() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(PARSERS)


@pytest.mark.parametrize("name", PARSERS)
def test_known_inputs_and_small_changes(name: str) -> None:
    inputs = [file.read_bytes() for file in sorted((CORPUS / name).iterdir())]
    assert inputs
    moments = random.Random(name)
    for data in [b"", *inputs]:
        enter(name, data)
        for _ in range(CHANGES):
            enter(name, _changed(data, moments))


def _changed(data: bytes, moments: random.Random) -> bytes:
    """Cut, repeat or replace a part."""
    begin, end = sorted(moments.choices(range(len(data) + 1), k=2))
    part = moments.choice([b"", data[begin:end] * 2, *ODD])
    return data[:begin] + part + data[min(end, begin + moments.choice([1, 8, len(data)])) :]


def test_the_fuzzer_runs(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="atheris is not made for this system")
    command = [sys.executable, "-m", "tests.fuzz", "all", "-runs=300"]
    command.append(f"-artifact_prefix={tmp_path}/")
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3000)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "Done 300 runs" in ended.stderr
