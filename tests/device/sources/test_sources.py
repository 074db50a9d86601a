"""Test samples from files and standard input, and errors that say where."""

import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest

from crowdml.device.sources.files import SourceCursor, read_source
from crowdml.device.sources.form import SampleForm
from crowdml.device.storage.position import Position
from crowdml.errors import InvalidInput, InvalidSample

read_csv, read_json_lines = SampleForm().read_csv, SampleForm().read_json_lines
LABELS = ["still", "walk"]
SAMPLES = [([0.5, 0.25], "walk"), ([0.125, -0.5], "still")]


def test_csv(tmp_path: Path) -> None:
    file = tmp_path / "samples.csv"
    file.write_text("a,b,y\n0.5,0.25,walk\n\n0.125,-0.5, still\n")
    assert list(read_source(str(file), LABELS)) == SAMPLES


def test_csv_without_a_header() -> None:
    assert list(read_csv(["0.5,0.25,walk", "0.125,-0.5,still"], LABELS)) == SAMPLES


def test_csv_from_a_spreadsheet(tmp_path: Path) -> None:
    """Check that a byte order mark before the first number does not make it a line of names."""
    file = tmp_path / "samples.csv"
    file.write_text("0.5,0.25,walk\r\n0.125,-0.5,still\r\n", encoding="utf-8-sig")
    assert list(read_source(str(file), LABELS)) == SAMPLES


@pytest.mark.parametrize(
    "text",
    ["0.5,0.25,walk\n0.125,-0.5,still\n",
     '{"x": [0.5, 0.25], "y": "walk"}\n\n{"x": [0.125, -0.5], "y": "still"}\n'],
)  # fmt: skip
def test_standard_input_of_either_kind(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert list(read_source("-", LABELS)) == SAMPLES


def test_samples_come_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a sample does not wait for the next one: a sensor's pipe never ends."""
    given: list[str] = []

    def pipe() -> Iterator[str]:
        for line in ("0.5,0.25,walk\n", "0.125,-0.5,still\n", "1,1,walk\n"):
            given.append(line)
            yield line

    lines = pipe()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(readline=lambda most: next(lines, "")))
    source = read_source("-", LABELS)
    assert next(source) == SAMPLES[0]
    assert len(given) == 1


def test_a_real_target() -> None:
    assert list(read_csv(["0.5,-2.5"])) == [([0.5], -2.5)]
    assert list(read_json_lines(['{"x": [0.5], "y": -2.5}'])) == [([0.5], -2.5)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0.5,0.25,walk", "0.5,oops,walk"], "line 2: features must be finite numbers"),
        (["0.5,0.25,walk", "", "0.5,0.25,run"], r"line 3: y must be one of still, walk.*'run'"),
        (["a,b,y", "c,d,y"], "line 2: features must be finite numbers"),
        (["a,b,y", "0.5,nan,walk"], "line 2: features must be finite numbers, found 'nan'"),
        (["0,5;0,25;walk"], "line 1: features .* look like semicolons: replace them"),
        (["0.5,0.25,walk", "0.5," + 99 * "z"], r"line 2: y must be .*, found 'z{39}…"),
        (["0.5,0.25,walk", 200_000 * "z"], "line 2: cannot be read: field larger than field limit"),
    ],
)
def test_a_bad_csv_line_is_named(lines: list[str], message: str) -> None:
    found = list(read_csv(lines, LABELS))[-1]
    assert isinstance(found, InvalidSample)
    assert re.search(message, str(found))


@pytest.mark.parametrize("source", ["mqtt://host/topic", "missing.csv", "/"])
def test_a_source_that_cannot_be_read(source: str) -> None:
    with pytest.raises(InvalidInput, match="source"):
        list(read_source(source, LABELS))


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    file = tmp_path / "samples.csv"
    file.write_bytes(b"0.5,0.25,walk\n\xff\xfe,1,1\n")
    with pytest.raises(InvalidInput):
        list(read_source(str(file), LABELS))


def test_an_empty_file(tmp_path: Path) -> None:
    file = tmp_path / "samples.csv"
    file.write_text("")
    assert list(read_source(str(file), LABELS)) == []


# Going on


def take(
    source: Path, before: Position | None = None, n: int = 99
) -> tuple[list[object], SourceCursor]:
    cursor = SourceCursor(str(source), before)
    return list(islice(read_source(str(source), LABELS, cursor), n)), cursor


def test_a_cursor_goes_on_after_what_was_taken(tmp_path: Path) -> None:
    file = tmp_path / "samples.csv"
    file.write_text("a,b,y\n0.5,0.25,walk\n0.125,-0.5,still")
    first, cursor = take(file, n=1)
    assert (first, cursor.lines) == (SAMPLES[:1], 2)
    rest, cursor = take(file, cursor.next_position())
    assert (rest, cursor.lines) == (SAMPLES[1:], 3)
    assert take(file, cursor.next_position())[0] == []
    with file.open("a") as lines:
        lines.write("\nno,1,walk\n0.5,0.25,walk\n")
    bad, new = take(file, cursor.next_position())[0]
    assert str(bad).startswith("line 4: features must be finite numbers")
    assert new == SAMPLES[0]


@pytest.mark.parametrize("changed", ["0.5,0.25,still\n0,1,1\n0,1,1\n", "0.5,0.25,walk\n", ""])
def test_a_file_that_changed_is_rejected(tmp_path: Path, changed: str) -> None:
    file = tmp_path / "samples.csv"
    file.write_text("0.5,0.25,walk\n0.125,-0.5,still\n")
    _, cursor = take(file)
    file.write_text(changed)
    with pytest.raises(InvalidInput, match=r"first 2 lines of .* cost, twice.* add --again"):
        take(file, cursor.next_position())


def test_standard_input_has_no_position() -> None:
    assert SourceCursor("-").next_position() is None
    assert SourceCursor.path("-") is None
    assert SourceCursor.path("/dev/null") is None
