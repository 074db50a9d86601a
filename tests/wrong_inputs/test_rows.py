"""Wrong rows: lines of CSV, JSON lines and messages of a topic, with columns by name or in order.

A wrong row is skipped with a sentence that names its line; the rows around it are taken.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from crowdml import Device
from crowdml.device.sources import feed
from crowdml.device.sources.form import SampleForm
from crowdml.device.sources.mqtt.broker import TopicMessage
from crowdml.device.sources.mqtt.topic import LARGEST_MESSAGE, _SampleReader
from crowdml.errors import CrowdmlError, InvalidSample
from tests.device.fakes import MemoryTransport, join
from tests.support.servers import make_task
from tests.wrong_inputs.expect_error import RAW

GOOD = "0.1,0.2,0.3,0.4,walk"
BAD_LABEL = "must be one of still, walk, run"
FINITE = "features must be finite numbers, found"
CSV: dict[str, str] = {
    "0.1,0.2,0.3,walk": "x must be 4 numbers, found 3",
    "0.1,0.2,0.3,0.4,0.5,walk": "x must be 4 numbers, found 5",
    "walk": "x must be 4 numbers, found 0",
    "0.1,0.2,0.3,0.4": f"x must be 4 numbers, found 3|{BAD_LABEL}",
    "0.1;0.2;0.3;0.4;walk": "expected several columns, found '0.1;0.2;0.3;0.4;walk'",
    "0.1\t0.2\t0.3\t0.4\twalk": "expected several columns",
    "0.1 0.2 0.3 0.4 walk": BAD_LABEL,
    **{f"{cell},0.2,0.3,0.4,walk": FINITE for cell in
       ("a", "", " ", "nan", "inf", "-inf", "NaN", "1e400", "0x10", "1_000", "1.2.3", "--1", "None",
        "null", "true", "½", "一", "１", "1 000", "'1'", "1e", "+", "#REF!", "=1+1", "€5", "5%",
        "\u202e1", "1\u00a00")},
    **{f"0.1,0.2,0.3,0.4,{label}": BAD_LABEL for label in
       ("Walk", "WALK", "walking", "", " ", "1", "0", "1.0", "nan", "None", "wal k", "walk.",
        "'walk'", "ｗａｌｋ", "walk\u200b", "still;walk", "true")},
}  # fmt: skip
QUOTES: dict[str, str] = {
    '0.1,0.2,0.3,0.4,"walk': "line 3: y must be one of",
    '"0.1,0.2,0.3,0.4,walk"': "line 2",
    "x" * 3_000_000: "line 2|must have at most|longer",
    "\x00,0.2,0.3,0.4,walk": "line 2",
}
ANSWERS: list[Any] = [
    None, 0, 1, 1.0, True, "", "Walk", [], ["walk"], {}, "1", "nope", -1, 1e300,
]  # fmt: skip
JSON: dict[str, str] = {
    "{": "expected",
    "nonsense": "expected",
    "[]": "expected",
    "null": "expected",
    "1": "expected",
    '"a"': "expected",
    "{}": "'x'",
    '{"x": [0.1, 0.2, 0.3, 0.4]}': "'y'",
    '{"y": "walk"}': "'x'",
    '{"X": [0.1, 0.2, 0.3, 0.4], "y": "walk"}': "'x' is missing",
    **{json.dumps({"x": x, "y": "walk"}): "x must|expected|must be" for x in
       (None, 5, "abcd", [], [0.1], [0.1] * 5, [[0.1] * 4], {"a": 1}, [None] * 4, ["0.1"] * 4,
        [True, "a", 0, 0], {"x0": 1})},
    '{"x": [NaN, 0, 0, 0], "y": "walk"}': "expected",
    '{"x": [Infinity, 0, 0, 0], "y": "walk"}': "expected",
    '{"x": [1e999, 0, 0, 0], "y": "walk"}': "expected|must be",
    '{"x": [0.1, 0.2, 0.3, 0.4], "y": "walk"': "expected",
    '{"x": [0.1, 0.2, 0.3, 0.4], "y": "walk"} {}': "expected",
    '{"x": ' + "[" * 2000: "expected",
    **{json.dumps({"x": [0.1, 0.2, 0.3, 0.4], "y": y}): BAD_LABEL for y in ANSWERS},
}  # fmt: skip


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("device")
    task = make_task(collection__batch=20_000, collection__buffer=30_000)
    with join(folder / "device", MemoryTransport(task)) as device:
        yield device


def skipped(device: Device, file: Path, **options: Any) -> list[str]:
    """Feed a file, and return what was said about the rows that were not taken."""
    said: list[str] = []
    feed(device, str(file), wait=0, again=True, on_skip=lambda e: said.append(str(e)),
         on_doubt=lambda said: True, **options)  # fmt: skip
    return said


def check(said: list[str], rule: str, line: int) -> None:
    assert len(said) == 1, said
    (message,) = said
    assert message.startswith(f"line {line}: "), message
    assert not RAW.search(message), message
    assert len(message) < 500, message
    with pytest.raises(InvalidSample, match=rule):
        raise InvalidSample(message)


@pytest.mark.parametrize(("row", "rule"), CSV.items(), ids=[repr(row)[:40] for row in CSV])
def test_lines_of_csv(device: Device, tmp_path: Path, row: str, rule: str) -> None:
    (tmp_path / "rows.csv").write_text(f"{GOOD}\n{row}\n{GOOD}\n", encoding="utf-8")
    before = device.n_samples
    check(skipped(device, tmp_path / "rows.csv"), rule, 2)
    assert device.n_samples == before + 2


@pytest.mark.parametrize(("row", "rule"), QUOTES.items(), ids=[repr(row)[:40] for row in QUOTES])
def test_lines_that_break_a_file(device: Device, tmp_path: Path, row: str, rule: str) -> None:
    """Such a line may take the rest of the file with it, but nothing before it."""
    (tmp_path / "rows.csv").write_text(f"{GOOD}\n{row}\n{GOOD}\n", encoding="utf-8")
    try:
        said = skipped(device, tmp_path / "rows.csv")
    except CrowdmlError as error:
        said = [str(error)]
    assert said
    with pytest.raises(InvalidSample, match=rule):
        raise InvalidSample(said[0])
    assert not RAW.search(said[0]), said


@pytest.mark.parametrize(("row", "rule"), JSON.items(), ids=[row[:40] for row in JSON])
def test_json_lines(device: Device, tmp_path: Path, row: str, rule: str) -> None:
    good = '{"x": [0.1, 0.2, 0.3, 0.4], "y": "walk"}'
    (tmp_path / "rows.jsonl").write_text(f"{good}\n{row}\n{good}\n")
    before = device.n_samples
    check(skipped(device, tmp_path / "rows.jsonl"), rule, 2)
    assert device.n_samples == before + 2


BYTES = {
    b"\xff\xfe": "expected",
    b"\x00\x00": "expected",
    b"0.1,0.2,0.3,0.4,walk": "expected",
    b"<xml/>": "expected",
    b" " * (LARGEST_MESSAGE + 1) + b"1": "a message must have at most",
    **{row.encode(): rule for row, rule in JSON.items()},
}


@pytest.mark.parametrize(("payload", "rule"), BYTES.items(), ids=[repr(b)[:40] for b in BYTES])
def test_messages_of_a_topic(device: Device, payload: bytes, rule: str) -> None:
    said: list[InvalidSample] = []
    reader = _SampleReader(device, "client", SampleForm.of(device.terms.features), said.append)
    before = device.n_samples
    assert reader.take(TopicMessage(1, False, payload))
    assert device.n_samples == before
    (error,) = said
    assert str(error).startswith("message 1: ")
    assert not RAW.search(str(error)), error
    assert len(str(error)) < 500, error
    with pytest.raises(InvalidSample, match=rule):
        raise error
