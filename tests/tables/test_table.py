"""Test files of samples as named columns, and errors that name line, column and value."""

import json
from pathlib import Path

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.tables import CsvDialect, guess_dialect, read_dialect, read_table

ROWS = {"light": [300.0, 12.5, np.nan], "warmth": [21.0, -3.25, 7.0]}
LABELS = ["fine", "cold", "cold"]


def written(folder: Path, kind: str) -> Path:
    """Write the same three rows, one of them without a value, as a file of this kind."""
    path = folder / f"pilot.{kind.partition(' ')[0]}"
    match kind:
        case "csv":
            path.write_text("light,label,warmth\n300,fine,21\n\n12.5,cold,-3.25\n,cold,7\n")
        case "csv with semicolons":
            path.write_text(
                "\ufefflight;label;warmth\r\n300;fine;21\r\n\r\n12,5;cold;-3,25\n;cold;7"
            )
        case "jsonl":
            rows = [{"light": 300, "warmth": 21, "label": "fine"}, None,
                    {"label": "cold", "warmth": -3.25, "light": 12.5},
                    {"warmth": 7.0, "label": "cold", "light": None}]  # fmt: skip
            path.write_text("\n".join(json.dumps(row) if row else "" for row in rows))
        case _:
            names, x = np.array(list(ROWS)), np.column_stack(list(ROWS.values()))
            np.savez(path, X=x, names=names, label=np.array(LABELS))
    return path


@pytest.mark.parametrize("kind", ["csv", "csv with semicolons", "jsonl", "npz"])
def test_the_same_columns_in_every_kind_of_file(tmp_path: Path, kind: str) -> None:
    table = read_table(written(tmp_path, kind))
    assert set(table.columns) == {"light", "warmth", "label"}
    for name, values in ROWS.items():
        assert np.array_equal(table.numbers(name), values, equal_nan=True)
        assert table.is_numeric(name)
    assert table["label"] == LABELS
    assert not table.is_numeric("label")
    assert table.lines == (
        [0, 1, 2] if kind == "npz" else [1, 3, 4] if kind == "jsonl" else [2, 4, 5]
    )
    with pytest.raises(InvalidInput, match="'warmht' is missing, found 'warmth'"):
        table["warmht"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,hot\n", "line 2, column 'b': must be a finite number, found 'hot'"),
        ("a;b\n1;2,5\n3;1.000,5\n", "line 3, column 'b': .* found '1.000,5'"),
        ('{"a": 1, "b": true}\n{"a": 1, "b": "x"}', "line 2, column 'b': .* found 'x'"),
        ("a,b,a\n1,2,3\n", "must differ from each other, found 'a' twice"),
        ("a,b\n1,2,3\n", "line 2: must have 2 columns"),
        ("", "at least one line of values, found none"),
        ('{"a": 1, "b": 2}\nnonsense', "line 2: must be a JSON object, found 'nonsense'"),
        ("a,b\n" + "1,2\n" * 6, "must have at most 5 rows, found more"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(InvalidInput, match=words):
        read_table(tmp_path / "bad.csv", most=5).numbers("b")


def test_lists_are_spread_over_columns(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": [1, 2], "y": 0}')
    assert list(read_table(tmp_path / "a.jsonl").columns) == ["x0", "x1", "y"]
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=np.arange(3))
    with pytest.raises(InvalidInput, match="one entry for each row, found the lengths 2, 3"):
        read_table(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("first", "dialect"),
    [
        ("a,b,c", CsvDialect()),
        ("a;b;c", CsvDialect(";", "")),
        ("a\tb", CsvDialect("\t", "")),
        ("a (m/s, west);b;c;d", CsvDialect(";", "")),
        ('"a;b",c,d', CsvDialect()),
        ("1;2;3", CsvDialect()),
        ("0,5;0,25;walk", CsvDialect()),
        ("", CsvDialect()),
    ],
)
def test_a_header_shows_the_dialect(first: str, dialect: CsvDialect) -> None:
    assert guess_dialect(first) == dialect


@pytest.mark.parametrize(
    "said", ["", " ", "|", ",,", ";;", ";,.", ".,", ",;", "; ,", "tab,,", "\t\t", "x"]
)
def test_what_is_no_dialect(said: str) -> None:
    with pytest.raises(InvalidInput, match=r"--csv must be the sign between columns .*[^.]\.$"):
        read_dialect(said)
    assert read_dialect(r"\t,") == CsvDialect("\t", ",")


def test_decimals_as_they_were_said() -> None:
    assert [CsvDialect(";", "").number(cell) for cell in ("1,5", "1.5", "", "nan")] == [
        1.5,
        1.5,
        None,
        None,
    ]
    for dialect, cell in ((CsvDialect(";", ","), "1.5"), (CsvDialect(";", "."), "1,5"),
                          (CsvDialect(";", ""), "1.000,5"), (CsvDialect(), "inf")):  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            dialect.number(cell)
