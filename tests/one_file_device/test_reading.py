"""Test how the one-file device reads samples: by name, in their units, from CSV and JSON."""

import hashlib
import json
import struct
from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from crowdml import one_file_device as standalone
from tests.support.servers import make_task

NAMES = ["humidity", "temperature", "light"]
ROOM: dict[str, Any] = {
    "count": 3, "names": NAMES, "center": [45.0, 21.0, 300.0], "scale": [12.0, 3.0, 250.0],
    "length": 4.0,
}  # fmt: skip
COMMAS = "CSV, columns separated by commas"
SAMPLE = ([0.125, -0.25, 0.25], 1.0)
"""Humidity 51, temperature 18, light 550, and the second label."""


def document(**features: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        make_task(privacy__mechanism="direction", privacy__epsilon=4.0).terms.text
    )
    found["features"] |= features
    return found


def room(**features: Any) -> standalone.Terms:
    return standalone.Terms(json.dumps(document(**ROOM | features)), "activity")


def test_a_unit_may_be_given() -> None:
    assert document()["target"]["unit"] == ""
    number: dict[str, Any] = {"target__labels": None, "target__unit": "kg", "model__kind": "huber"}
    direction: dict[str, Any] = {"privacy__mechanism": "direction", "privacy__epsilon": 4.0}
    assert standalone.Terms(make_task(**number, **direction).terms.text, "activity").C == 0


def read(path: Path, text: str, terms: standalone.Terms) -> list[Any]:
    """Return the samples of a file, and the error for each line that has none."""
    path.write_text(text, encoding="utf-8")
    found: list[Any] = []
    for _, line, layout, _ in standalone.read_lines(terms, str(path), {}):
        try:
            found.append(layout.sample(line))
        except ValueError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("51,18,550,walk\n", f"{COMMAS}; columns in the order of the task."),
        ("light,y,humidity,temperature\n550,walk,51,18\n", f"{COMMAS}; columns by name."),
        (
            "light [lux],y,humidity (%),temperature\n550,walk,51,18\n",
            f"{COMMAS}; columns by name.",
        ),
        (
            "temperature,Label,light,humidity,id\n18,walk,550,51,7\n",
            f"{COMMAS}; columns by name.\nignored columns: id",
        ),
        (
            "temperature,id,light,humidity,what\n18,7,550,51,walk\n",
            f"{COMMAS}; columns by name.\nignored columns: id",
        ),
        (
            "Zeit;light;temperature;humidity;label\n1;550,0;18;5,1e1;walk\n",
            "CSV, columns separated by semicolons, decimals by commas; columns by name.\n"
            "ignored columns: Zeit",
        ),
        (
            "temperature\tlight\thumidity\ty\n18,0\t550\t51\twalk\n",
            "CSV, columns separated by tabs, decimals by commas; columns by name.",
        ),
        (
            '{"y": "walk", "light": 550, "id": 7, "humidity": 51, "temperature": 18.0}\n',
            "lines of JSON.\nignored columns: id",
        ),
        ('{"x": [51, 18, 550], "y": "walk"}\n', "lines of JSON."),
    ],
)
def test_by_name_whatever_the_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path, last = tmp_path / "samples", text.splitlines(keepends=True)[-1]
    assert read(path, f"\n{text}{last}", room()) == [SAMPLE, SAMPLE]
    assert capsys.readouterr().err == f"{path} is read as {said}\n", "it is said once"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("humidity,temprature,light,y", "the column 'temperature' is missing, found 'temprature'"),
        ("humidity,lux,light,Temp,y", "the column 'temperature' is missing, found 'Temp'"),
        ("a,b,c,d", "the column 'humidity' is missing, found "),
        ("humidity,light,humidity,temperature,y", "the column 'humidity' is there twice"),
        ("humidity,light,temperature", "the column 'y' with the label is missing"),
        ("id,humidity,light,temperature", "the column 'y' with the label is missing"),
    ],
)
def test_a_header_that_does_not_fit_ends_it(tmp_path: Path, header: str, said: str) -> None:
    with pytest.raises(standalone.DeviceError, match=said):
        read(tmp_path / "samples.csv", f"{header}\n1,2,3,4,5\n", room())


WRONG = {
    ",18,550,walk": "column humidity: expected a finite number, found none",
    "51,nan,550,walk": "column temperature: expected a finite number, found none",
    "51,18,bright,walk": "column light: expected a finite number, found 'bright'",
    "51,inf,550,walk": "column temperature: expected a finite number, found 'inf'",
    "51,18,walk": "expected 4 cells, found 3",
    "51,18,550,swim": "y must be one of still, walk, run, found 'swim'",
    '{"humidity": 51, "temperature": null, "light": 550, "y": 1}': "temperature: expected",
    '{"humidity": 51, "temperature": "18", "light": 550, "y": 1}': "temperature: expected",
    '{"humidity": 51, "light": 550, "y": 1, "temprature": 1}': "is missing, found 'temprature'",
    '{"humidity": 51, "light": 550, "temperature": 18, "id": 1}': "'y' with the label is missing",
    '{"x": [1, 2], "y": 1}': "x must be 3 numbers, found 2",
    '{"humidity": ': "Expecting value",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_line_that_is_no_sample_names_the_column(tmp_path: Path, line: str) -> None:
    header = "" if line.startswith("{") else "humidity,temperature,light,y\n"
    (said,) = read(tmp_path / "samples", f"{header}{line}\n", room())
    assert WRONG[line] in said


@pytest.mark.parametrize(
    "text",
    [
        "humidity,temperature,light,y\n51, ,550,walk\n51,NaN,550,walk\n",
        '{"humidity": 51, "temperature": null, "light": 550, "y": "walk"}\n' * 2,
    ],
)
def test_an_empty_cell_is_the_center_where_the_terms_say_so(tmp_path: Path, text: str) -> None:
    found = read(tmp_path / "samples", text, room(missing="center"))
    assert found == [([0.125, 0.0, 0.25], 1.0)] * 2


def test_the_header_counts_when_a_file_has_grown(tmp_path: Path) -> None:
    path, terms = tmp_path / "samples.csv", room()
    header = "light,temperature,humidity,y\n"
    path.write_text(f"{header}1,2,3,walk\n")
    *_, (_, _, _, position) = standalone.read_lines(terms, str(path), {})
    path.write_text(f"{header}1,2,3,walk\n550,18,51,walk\n")
    ((number, line, layout, _),) = standalone.read_lines(terms, str(path), position)
    assert (number, layout.sample(line)) == (3, SAMPLE)


def test_a_label_may_have_a_comma_and_a_target_a_decimal_one(tmp_path: Path) -> None:
    found = document(**ROOM)
    found["target"]["labels"] = ["a,b", "c"]
    labels = standalone.Terms(json.dumps(found), "activity")
    text = "humidity;temperature;light;y\n51;18;550;{}\n"
    assert read(tmp_path / "labels", text.format("a,b"), labels) == [(SAMPLE[0], 0.0)]
    found["target"]["labels"], found["model"]["kind"] = [], "ridge"
    found["collection"]["counters"] = 0.0
    number = standalone.Terms(json.dumps(found), "activity")
    assert read(tmp_path / "numbers", text.format("2,5"), number) == [(SAMPLE[0], 2.5)]


# Where the model starts from


def started(w: bytes, **changes: Any) -> standalone.Terms:
    start = {"sha256": hashlib.sha256(w).hexdigest(), "rows": 200, "people": 4, "words": "rooms"}
    found = document()
    found["model"]["start"] = start | changes
    return standalone.Terms(json.dumps(found), "activity")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "a pilot of 200 samples of 4 people (rooms)."),
        ({"people": None}, "a pilot of 200 samples (rooms)."),
        ({"rows": 1, "people": 1, "words": ""}, "a pilot of 1 sample of 1 person."),
        ({"words": "\x1b[8m"}, r"a pilot of 200 samples of 4 people (\x1b[8m)."),
        ({"rows": None, "people": None}, "one that was learnt before (rooms)."),
    ],
)
def test_where_the_model_starts_from_is_said(changes: dict[str, Any], said: str) -> None:
    line = standalone.describe_start(started(b"", **changes))
    assert line == f"\nStarts with:   The model starts from {said}"


@pytest.mark.parametrize(
    "changes",
    [{"sha256": "A" * 64}, {"sha256": "0" * 63}, {"rows": 0}, {"people": 0}, {"words": None},
     {"rows": 2.5}, {"more": 1}],
    ids=str,
)  # fmt: skip
def test_a_start_that_makes_no_sense(changes: dict[str, Any]) -> None:
    with pytest.raises(standalone.DeviceError, match="Do not join"):
        started(b"", **changes)


def test_version_0_must_be_the_start() -> None:
    d = room().K * 4  # parameters of the activity task, which has four features
    start, other = (struct.pack(f"<{d}f", *[value] * d) for value in (0.5, 0.0))

    def check_out(terms: standalone.Terms, version: int, parameters: bytes) -> Any:
        model = {
            "version": version,
            "state": "running",
            "parameters": b64encode(parameters).decode(),
        }
        server = SimpleNamespace(call=lambda *_: ({"Crowdml-Terms": terms.sha256}, model))
        device: Any = SimpleNamespace(terms=terms, server=server, checkin_key=str)
        return standalone.Device.check_out(device, 1)

    terms = started(start)
    assert check_out(terms, 0, start) == (0, [0.5] * d)
    assert check_out(terms, 1, other) == (1, [0.0] * d)
    assert check_out(standalone.Terms(json.dumps(document()), "activity"), 0, other)[0] == 0
    with pytest.raises(standalone.DeviceError, match="version 0 is not the start") as rejected:
        check_out(terms, 0, other)
    assert rejected.value.kind == "unknown", "it is tried again, and nothing is spent"
