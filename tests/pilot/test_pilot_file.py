"""Test a pilot as a file: what is read, what is left out and why, and what cannot be a pilot."""

import io
import json
from typing import Any

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.pilot import check_size, pilot_file, read_pilot
from crowdml.pilot.rows import PilotRows, read_rows

HEADER = "temperature [°C],humidity (%),vote,person"
ROWS = [f"{16 + k % 9}.5,{30 + k * 7 % 40},{'cold' if k % 9 < 5 else 'warm'},p{k % 3}"
        for k in range(30)]  # fmt: skip


NUMBER = "must be a finite number, or empty"
CASE = "must not differ in case alone from the label 'cold' on line 2"


def rows_of(lines: list[str], file: str = "pilot.csv", **options: Any) -> PilotRows:
    csv = options.pop("csv", None)
    return read_rows(read_pilot("\n".join(lines).encode(), file, csv), **options)


def test_columns_have_names_units_and_numbers() -> None:
    pilot = rows_of([HEADER, *ROWS])
    assert [(column.name, column.unit) for column in pilot.columns] == [
        ("temperature", "°C"),
        ("humidity", "%"),
    ]
    assert pilot.x[:2].tolist() == [[16.5, 30], [17.5, 37]]
    assert (pilot.target_name, pilot.targets.labels) == ("vote", ("cold", "warm"))
    assert pilot.targets.y[:6].tolist() == [0, 0, 0, 0, 0, 1]
    assert pilot.people is not None
    assert pilot.people[:4].tolist() == [0, 1, 2, 0]
    assert [*map(str, pilot.findings)] == [
        "30 rows; the labels in 'vote' are cold (18) and warm (12).",
        "'person' names 3 people.",
    ]


@pytest.mark.parametrize("kind", ["npz", "jsonl", "semicolons"])
def test_other_files_say_the_same(kind: str) -> None:
    expected = rows_of([HEADER, *ROWS])
    if kind == "semicolons":
        lines = [line.replace(",", ";").replace(".", ",") for line in [HEADER, *ROWS]]
        found = rows_of(lines, csv=";,")
    else:
        names = ["temperature", "humidity", "vote", "person"]
        cells = [line.split(",") for line in ROWS]
        values = [(float(t), float(h), vote, person) for t, h, vote, person in cells]
        if kind == "jsonl":
            lines = [json.dumps(dict(zip(names, row, strict=True))) for row in values]
            found = rows_of(lines, "pilot.jsonl")
        else:
            file = io.BytesIO()
            t, h, vote, person = zip(*values, strict=True)
            arrays = {"temperature": t, "humidity": h, "vote": vote, "person": person}
            np.savez(file, **{name: np.array(each) for name, each in arrays.items()})  # type: ignore[arg-type]
            found = read_rows(read_pilot(file.getvalue(), "pilot.npz"))
    assert np.array_equal(found.x, expected.x)
    assert found.targets.labels == expected.targets.labels
    assert np.array_equal(found.targets.y, expected.targets.y)
    assert found.n_people == 3


@pytest.mark.parametrize(
    ("header", "cell", "reason"),
    [
        ("floor", "2", "always 2"),
        ("note", "", "empty"),
        ("when", "2026-01-{day:02}T10:00:00", "time stamps"),
        ("date", "{day}.1.2026", "time stamps"),
        ("timestamp", "17000{k:02}000.5", "time stamps"),
        ("time", "{square}.25", "time stamps"),
        ("vote_id", "{k}7", "an id"),
        ("deviceId", "{odd}", "an id"),
        ("key", "k{k}f", "an id: a text that no two rows share"),
        ("counter", "{k}", "it counts the rows"),
        ("index", "{k}3", "it counts the rows"),
    ],
)
def test_columns_that_say_nothing_are_left_out(header: str, cell: str, reason: str) -> None:
    made = [cell.format(k=k, day=k + 1, odd=k % 2, square=k * k) for k in range(30)]
    pilot = rows_of(
        [f"{header},{HEADER}", *(f"{new},{old}" for new, old in zip(made, ROWS, strict=True))]
    )
    assert [column.name for column in pilot.columns] == ["temperature", "humidity"]
    assert f"The column '{header}' is left out: {reason}." in map(str, pilot.findings)


@pytest.mark.parametrize("header", ["hour", "time of day", "humid", "ID of", "NO"])
def test_columns_that_look_a_little_like_them_are_kept(header: str) -> None:
    made = [f"{k * 11 % 24}" for k in range(30)]
    lines = [f"{new},{old}" for new, old in zip(made, ROWS, strict=True)]
    assert rows_of([f"{header},{HEADER}", *lines]).columns[0].name == header


def test_which_columns_hold_targets_and_people() -> None:
    lines = ["a,Target,Participant,b", *(f"{k * 7 % 5},{k % 2},{k % 3},{k * k}" for k in range(40))]
    pilot = rows_of(lines)
    assert ([c.name for c in pilot.columns], pilot.target_name, pilot.n_people) == (
        ["a", "b"],
        "Target",
        3,
    )
    pilot = rows_of(lines, label="a", person="b")
    assert ([c.name for c in pilot.columns], pilot.target_name) == (["Target", "Participant"], "a")
    assert pilot.people is None
    assert "'b' has another person in every row" in str(pilot.findings[1])
    one = rows_of([HEADER, *(f"{line[:-2]}p1" for line in ROWS)])
    assert one.n_people == 1
    assert "names one person" in str(one.findings[1])


def test_numbers_to_predict() -> None:
    heights = [1.5 + k % 7 / 10 for k in range(40)]
    pilot = rows_of(["a,b,height", *(f"{k % 5},{k % 3},{y:.2f}" for k, y in enumerate(heights))])
    assert pilot.targets.labels == ()
    assert pilot.targets.y.tolist() == pytest.approx(heights)
    assert pilot.targets.scale == float(f"{np.std(heights):.1e}")
    numbered = rows_of(["a,b,y", *(f"{k % 5},{k % 3},{k % 4}" for k in range(40))])
    assert numbered.targets.labels == ("0", "1", "2", "3")
    counted = rows_of(["a,b,y", *(f"{k % 5},{k % 3},{k * k}" for k in range(40))])
    assert counted.targets.labels == ()


def test_a_rare_label_is_left_out_with_its_rows() -> None:
    pilot = rows_of([HEADER, *ROWS, "99,99,hot,p1", "99,99,hot,p9"])
    assert pilot.targets.labels == ("cold", "warm")
    assert pilot.x.shape == (30, 2)
    assert (pilot.x < 99).all()
    assert pilot.n_people == 3
    said = "The label 'hot' is left out with its rows: it has 2, and needs 5."
    assert said in map(str, pilot.findings)


def test_an_empty_cell_is_missing() -> None:
    pilot = rows_of([HEADER, ",40,cold,p1", *ROWS])
    assert np.isnan(pilot.x[0, 0])
    assert "Empty cells in 'temperature': 1." in str(pilot.findings[-1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({4: "17.5,warm,cold,p1"}, f"line 4, column 'humidity (%)': {NUMBER}, found 'warm'."),
        ({4: "17.5,nan,cold,p1"}, f"line 4, column 'humidity (%)': {NUMBER}, found 'nan'."),
        ({4: "inf,40,cold,p1"}, f"line 4, column 'temperature [°C]': {NUMBER}, found 'inf'."),
        ({4: "17.5,40,,p1"}, "line 4, column 'vote': must have an answer in every row, found none"),
        ({4: "17.5,40,cold,"}, "line 4, column 'person': must have a person in every row"),
        ({4: "17.5,40,Cold,p1"}, f"line 4, column 'vote': {CASE}, found 'Cold'."),
        ({4: "17.5,40,cold"}, "line 4: must have 4 columns"),
        ({1: "a,a,vote,person"}, "must differ from each other, found 'a' twice"),
        (dict.fromkeys(range(2, 32), ROWS[0]), "5 rows each in the column 'vote', found 30 of 'co"),
        (dict.fromkeys(range(2, 32), ""), "found none"),
    ],
)
def test_what_cannot_be_a_pilot(change: dict[int, str], said: str) -> None:
    lines = [HEADER, *ROWS]
    for line, text in change.items():
        lines[line - 1] = text
    with pytest.raises(InvalidInput) as error:
        rows_of(lines)
    assert said in str(error.value)
    assert str(error.value).startswith(("pilot.csv", "a pilot must"))


def test_too_few_rows_and_no_columns() -> None:
    wide = ["c" + ",c".join(map(str, range(12))) + ",y"]
    for k in range(10):
        wide.append(",".join(str((k * j + k * k) % 13) for j in range(1, 13)) + f",{'ab'[k % 2]}")
    with pytest.raises(InvalidInput, match="found 12 columns and 10 rows"):
        rows_of(wide)
    with pytest.raises(InvalidInput, match="found 0 columns and 10 rows"):
        rows_of(["y", *("ab"[k % 2] for k in range(10))])
    with pytest.raises(InvalidInput, match=r"no column 'votes'\. Did you mean 'vote'"):
        rows_of([HEADER, *ROWS], label="votes")


def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="at most 10 MB, found 11 MB"):
        check_size(11_000_000, "a.csv", 10_000_000)
    monkeypatch.setattr(pilot_file, "MOST_ROWS", 20)
    lines = [HEADER, *ROWS, "not, to be read"]
    with pytest.raises(InvalidInput, match="at most 20 rows, found more"):
        rows_of(lines)
    monkeypatch.setattr(pilot_file, "MOST_BYTES", 10_000)
    packed = io.BytesIO()
    np.savez_compressed(packed, x=np.zeros((1000, 10)), y=np.zeros(1000))
    assert len(packed.getvalue()) < 10_000
    with pytest.raises(InvalidInput, match="at most 0 MB"):
        read_pilot(packed.getvalue(), "a.npz")
