"""Test samples by the task's names: CSV in any order of columns, JSON objects by key."""

import re
from pathlib import Path

import pytest

from crowdml.device.sources import SampleForm, feed, read_prediction_rows
from crowdml.device.sources.files import SourceCursor, read_source
from crowdml.device.sources.mqtt.broker import TopicMessage
from crowdml.device.sources.mqtt.topic import _SampleReader
from crowdml.errors import InvalidInput, InvalidSample
from crowdml.protocol import Features
from crowdml.tables import CsvDialect
from tests.device.fakes import MemoryTransport, join
from tests.support.servers import make_task

LABELS = ["still", "walk"]
NAMES = ("light", "warmth")
EXPECTED = [([300.0, 21.5], "walk"), ([12.0, -3.25], "still")]


def form(notes: list[str] | None = None, missing: str = "reject", **options: object) -> SampleForm:
    center = () if missing == "reject" else (1.0, 1.0)
    features = Features(2, names=NAMES, center=center, missing=missing)  # type: ignore[arg-type]
    noted = [] if notes is None else notes
    return SampleForm.of(features, on_note=noted.append, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("light,warmth,y\n300,21.5,walk\n12,-3.25,still\n", "by name, the answer in 'y'$"),
        ("label,id,warmth,light\nwalk,1,21.5,300\nstill,2,-3.25,12\n", "'label'; ignored.* 'id'$"),
        ("warmth;light;comfort\n21,5;300;walk\n-3,25;12;still\n", "semicolons.*'comfort'$"),
        ("warmth [°C],light (lux),y\n21.5,300,walk\n-3.25,12,still\n", "by name"),
        ("300,21.5,walk\n12,-3.25,still\n", "have no names: read in the order light, warmth$"),
        ('{"warmth": 21.5, "light": 300, "y": "walk"}\n{"light": 12, "warmth": -3.25, "id": 4,'
         ' "label": "still"}\n', "^ignored are 'id'$"),
        ('{"x": [300, 21.5], "y": "walk"}\n'
         '{"x": {"warmth": -3.25, "light": 12}, "y": "still"}\n', "^$"),
    ],
)  # fmt: skip
def test_columns_by_name(tmp_path: Path, text: str, said: str) -> None:
    file, notes = tmp_path / "samples", list[str]()
    file.write_text(text)
    assert list(read_source(str(file), LABELS, form=form(notes))) == EXPECTED
    assert len(notes) == (said != "^$"), "once for the whole source"
    assert re.search(said, "".join(notes))


def test_a_named_column_of_y(tmp_path: Path) -> None:
    file = tmp_path / "samples"
    file.write_text("light,comfort,warmth,y\n300,walk,21.5,7\n12,still,-3.25,8\n")
    assert list(read_source(str(file), LABELS, form=form(label="comfort"))) == EXPECTED
    file.write_text('{"light": 300, "warmth": 21.5, "y": 7, "comfort": "walk"}\n')
    assert list(read_source(str(file), LABELS, form=form(label="comfort"))) == EXPECTED[:1]


def test_a_file_goes_on_with_its_header(tmp_path: Path) -> None:
    file = tmp_path / "samples"
    file.write_text("y,warmth,light\nwalk,21.5,300\nstill,-3.25,12\n")
    cursor = SourceCursor(str(file))
    first = next(read_source(str(file), LABELS, cursor, form()))
    rest = read_source(str(file), LABELS, SourceCursor(str(file), cursor.next_position()), form())
    assert [first, *rest] == EXPECTED


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "light,warmht,y\n1,2,walk\n",
            "'warmth' is missing, found 'warmht'. Did you mean 'warmth'",
        ),
        ("light,y\n1,walk\n", "'warmth' is missing, found 'y'"),
        ("Light,warmth,y\n1,2,walk\n", "'light' is missing, found 'Light'"),
        ("light;warmht;y\n1,2,walk\n", "'warmth' is missing, found 'warmht'"),
        ("light,warmth,light,y\n1,2,3,walk\n", "'light' is there twice"),
        ("light,warmth\n1,2\n", "must have a column with the answer, found none. Name it y"),
    ],
)
def test_a_header_that_does_not_fit(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "samples").write_text(text)
    with pytest.raises(InvalidInput, match=words):
        list(read_source(str(tmp_path / "samples"), LABELS, form=form()))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("light,warmth,y\n1,hot,walk\n", "line 2: column 'warmth' .* finite number, found 'hot'"),
        ("light,warmth,y\n1,inf,walk\n", "line 2: column 'warmth' .* found 'inf'"),
        ("light,warmth,y\n1,,walk\n", "line 2: column 'warmth' .* finite number, found none"),
        ("light,warmth,y\n1,2\n", "line 2: expected 3 columns as in the first line, found 2"),
        ("light,warmth,y\n1,2,run\n", "line 2: y must be one of still, walk"),
        ('{"light": 1, "warmht": 2, "y": 1}\n', "line 1: .*'warmth' is missing, found 'warmht'"),
        ('{"light": 1, "warmth": 2}\n', "line 1: an object must have the answer under 'y'"),
        ('{"light": 1, "warmth": null, "y": 1}\n', "line 1: column 'warmth' .* found none"),
    ],
)  # fmt: skip
def test_a_line_that_does_not_fit(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "samples").write_text(text)
    (found,) = read_source(str(tmp_path / "samples"), LABELS, form=form())
    assert isinstance(found, InvalidSample)
    assert re.search(words, str(found))


@pytest.mark.parametrize(
    "text",
    ["warmth,light,y\n,300,walk\n", "300,,walk\n", '{"light": 300, "warmth": null, "y": "walk"}\n'],
)
def test_an_empty_cell_may_be_the_center(tmp_path: Path, text: str) -> None:
    (tmp_path / "samples").write_text(text)
    found = list(read_source(str(tmp_path / "samples"), LABELS, form=form(missing="center")))
    assert found == [([300.0, None], "walk")]


def test_without_names_a_dialect_can_be_said() -> None:
    said = SampleForm(dialect=CsvDialect(";", ","))
    assert list(said.read_csv(["0,5;0,25;walk"], LABELS)) == [([0.5, 0.25], "walk")]
    assert list(SampleForm().read_csv(["a;b;y", "0,5;0.25;walk"], LABELS)) == [
        ([0.5, 0.25], "walk")
    ]
    with pytest.raises(InvalidInput, match="Put the answer last, without --label"):
        list(SampleForm(label="y").read_csv(["a,b,y", "1,2,walk"], LABELS))


def test_inputs_by_name_with_y_or_without(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    form = SampleForm(names=NAMES, requires_y=False, count=2)
    for text, targets in (
        ("id,warmth,light\n7,21.5,300\n8,-3.25,12\n", [None, None]),
        ("warmth,light,label\n21.5,300,walk\n-3.25,12,\n", [1.0, None]),
        ("300,21.5\n12,-3.25,still\n", [None, 0.0]),
        (
            '{"warmth": 21.5, "light": 300}\n{"warmth": -3.25, "light": 12, "y": "still"}',
            [None, 0.0],
        ),
    ):
        file.write_text(text)
        found = list(read_prediction_rows(str(file), form, LABELS))
        assert found == [(x, y) for (x, _), y in zip(EXPECTED, targets, strict=True)]


def test_a_device_is_fed_by_name(tmp_path: Path) -> None:
    task = make_task(features__count=2, features__names=list(NAMES), features__scale=[250.0, 3.0],
                     features__center=[300.0, 21.0], features__missing="center")  # fmt: skip
    file, notes, skipped = tmp_path / "samples.csv", list[str](), list[str]()
    file.write_text("id;warmth;light;y\n1;22,5;300;walk\n2;;175;run\n3;hot;1;run\n")
    with join(tmp_path / "device", MemoryTransport(task)) as device:
        counts = feed(device, str(file), wait=0.0, on_note=notes.append,
                   on_skip=lambda error: skipped.append(str(error)))  # fmt: skip
        rows = device._store._db.execute("SELECT x FROM buffer ORDER BY id").fetchall()
    assert [memoryview(row[0]).cast("d").tolist() for row in rows] == [[0.0, 0.5], [-0.5, 0.0]]
    assert (counts.kept, counts.skipped) == (2, 1)
    assert skipped == ["line 4: column 'warmth' must be a finite number, found 'hot'."]
    assert notes == [
        "columns are separated by semicolons, decimals by points or commas; columns are found by "
        "name, the answer in 'y'; ignored are 'id'"
    ]


def test_messages_of_a_topic_by_key(tmp_path: Path) -> None:
    task = make_task(features__count=2, features__names=list(NAMES))
    notes, skipped = list[str](), list[str]()
    with join(tmp_path / "device", MemoryTransport(task)) as device:
        form = SampleForm.of(task.terms.features, on_note=notes.append)
        reader = _SampleReader(device, "client", form, lambda error: skipped.append(str(error)))
        for text in (
            '{"warmth": 0.5, "light": 0.25, "y": "walk", "at": 5}',
            '{"light": 0.25, "y": "run", "warmth": 0.125, "at": 6}',
            '{"light": 0.25, "warmht": 0.5, "y": "walk"}',
        ):
            assert reader.take(TopicMessage(0, False, text.encode()))
        assert (reader.counts.kept, device.n_samples) == (2, 2)
    assert notes == ["ignored are 'at'"]
    assert len(skipped) == 1
    assert "message 3: " in skipped[0]
    assert "'warmth' is missing, found 'warmht'" in skipped[0]
