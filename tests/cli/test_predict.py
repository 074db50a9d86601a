"""Test `crowdml predict` and `crowdml.load_model`, with files and with a live server."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crowdml import load_model
from crowdml.errors import InvalidInput, Rejected, Untrusted
from crowdml.learnt import write_model
from tests.cli.command import Here
from tests.learnt.models import KINDS, made
from tests.support.servers import FaultyServer, checkin, create, enrol, make_task

LABELS = ("walk", "bus", "run")
MODEL = made(make_task(target__labels=list(LABELS)), 5 * np.eye(3, 4), np.zeros(3))
NUMBER = made(KINDS["ridge"], np.array([[1.0, 2.0, 0.0, 0.0]]), np.array([0.5]))


@pytest.fixture
def predict(quick: Here, tmp_path: Path) -> Here:
    """Return the command in a folder with two models and a file."""
    (tmp_path / "modes.npz").write_bytes(write_model(MODEL, "npz"))
    (tmp_path / "modes.json").write_bytes(write_model(MODEL, "json"))
    (tmp_path / "hinge.json").write_bytes(
        write_model(made(make_task(model__kind="hinge"), np.eye(3, 4), np.zeros(3)), "json")
    )
    (tmp_path / "number.json").write_bytes(write_model(NUMBER, "json"))
    (tmp_path / "rows.csv").write_text("a,b,c,d\n1,0,0,0\n\n0,300,0,0\n")
    return quick


@pytest.mark.parametrize("model", ["modes.npz", "modes.json"])
def test_a_line_each(predict: Here, model: str) -> None:
    assert predict("predict", model, "--source", "rows.csv").said() == "walk\nbus\n"


def test_from_standard_input_of_either_kind(predict: Here) -> None:
    ran = predict("predict", "modes.npz", "--source", "-", typed='{"x": [0, 0, 1, 0]}\n')
    assert ran.said() == "run\n"
    ran = predict("predict", "number.json", "--source", "-", typed="0.5,0.25,0,0\n")
    assert ran.said() == "1.5\n"


def test_where_the_answer_is_known_the_error_is_said(predict: Here) -> None:
    lines = "1,0,0,0,walk\n0,1,0,0,run\n0,0,1,0,\n"
    ran = predict("predict", "modes.npz", "--source", "-", typed=lines)
    assert ran.said() == "walk\nbus\nrun\n"
    assert ran.err == "error 0.5 over 2 lines with an answer\n"
    lines = '{"x": [0.5, 0.25, 0, 0], "y": 2.5}\n{"x": [1, 0, 0, 0], "y": null}\n'
    ran = predict("predict", "number.json", "--source", "-", typed=lines)
    assert ran.err == "root_mean_square_error 1 over 1 line with an answer\n"


def test_readings_by_name_in_their_own_units(predict: Here, tmp_path: Path) -> None:
    task = make_task(target__labels=list(LABELS), features__names=["light", "warmth"],
                     features__count=2, features__center=[300.0, 21.0])  # fmt: skip
    weights = np.array([[-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    (tmp_path / "room.npz").write_bytes(write_model(made(task, weights, np.zeros(3)), "npz"))
    room = ("predict", "room.npz", "--source", "-")
    ran = predict(*room, typed="id;warmth;light;label\n7;30,5;300;bus\n8;21,0;12;run\n")
    assert ran.said() == "bus\nwalk\n"
    how, error = ran.err.splitlines()
    assert how.startswith("standard input: columns are separated by semicolons, ")
    assert how.endswith("the answer in 'label'; ignored are 'id'")
    assert error.startswith("error 0.5 over")
    ran = predict(
        *room, "--csv", ";,", "--label", "seen", typed="warmth;seen;light\n30,5;bus;300\n"
    )
    assert (ran.said(), ran.err.splitlines()[1]) == (
        "bus\n", "error 0 over 1 line with an answer")  # fmt: skip
    for lines, words in (
        ("light,warmht\n1,2\n", "'warmth' is missing, found 'warmht'. Did you mean 'warmth'?"),
        ("light,warmth\n1,hot\n", "line 2: column 'warmth' must be a finite number, found 'hot'."),
        ("light,warmth\n1,\n", "line 2: column 'warmth' must be a finite number, found none."),
    ):
        ran = predict(*room, typed=lines)
        assert (ran.code, words in ran.err) == (1, True)
    assert "--csv must be" in predict(*room, "--csv", "|", typed="").error()


def test_probabilities(predict: Here) -> None:
    said = predict("predict", "modes.npz", "--source", "rows.csv", "--probabilities").said()
    header, first, _ = said.splitlines()
    assert header == "prediction,bus,run,walk"
    name, *chances = first.split(",")
    assert (name, chances.index(max(chances))) == ("walk", 2)
    assert sum(map(float, chances)) == pytest.approx(1)
    for model in ("hinge.json", "number.json"):
        error = predict("predict", model, "--source", "rows.csv", "--probabilities").error()
        assert error.startswith("--probabilities needs a model of the kind softmax, found ")


def test_as_one_object(predict: Here) -> None:
    document = predict(
        "predict", "modes.npz", "--source", "rows.csv", "--probabilities", "--json"
    ).json()
    assert [row["prediction"] for row in document["rows"]] == ["walk", "bus"]
    assert set(document["rows"][0]["probabilities"]) == set(LABELS)
    assert (document["task"], document["unit"], document["epsilon"]) == ("activity", "sample", 1.0)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("1,0,0,0\n1,nan,0,0\n", "line 2: features must be finite numbers, found 'nan'."),
        ("1,0,0,0\n1,0,0\n", "line 2: expected 4 features, and the answer if it is known, "
         "found 3 columns."),
        ("1;0;0;0\n", "line 1: expected 4 features, and the answer if it is known, found 1 "
         "columns. Columns are separated by commas, and these look like semicolons: replace them, "
         "or name the columns in a first line."),
        ("1,0,0,0,train\n", "line 1: y must be one of walk, bus, run, "
         "found 'train'."),
        ("1,0,0,0,7\n", "line 1: y must be one of walk, bus, run, found '7'. Give "
         "the name of a label, not its number."),
        ('{"x": [1]}\n', "line 1: x must be 4 numbers, found 1."),
        ('{"z": 1}\n', "line 1: expected {\"x\": [numbers]}, found '{\"z\": 1}\\n': 'x' is "
         "missing, found 'z'."),
    ],
)  # fmt: skip
def test_lines_that_are_rejected(predict: Here, lines: str, sentence: str) -> None:
    ran = predict("predict", "modes.npz", "--source", "-", typed=lines)
    assert (ran.code, ran.err.rstrip("\n")) == (1, f"crowdml: {sentence}")


# From a live server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    process = FaultyServer(tmp_path_factory.mktemp("server"), tls="self-signed")
    task = make_task()
    create(process.database, task, make_task("new"))
    with process:
        with process.connected() as wire:
            path = "/v1/tasks/activity/checkins"
            assert wire.call("POST", path, checkin(task), enrol(wire)).status == 200
        yield process


def test_a_task_by_its_address(server: FaultyServer, quick: Here) -> None:
    urls = [f"{server.url}{path}/activity" for path in ("/tasks", "/v1/tasks", "/join")]
    first, *others = [load_model(url, fingerprint=server.fingerprint) for url in urls]
    assert first.about.version == 1
    for other in others:
        assert other.weights.tobytes() == first.weights.tobytes()
    (name,) = first.predict(np.eye(1, 4))
    ran = quick(
        "predict", urls[0], "--source", "-", "--fingerprint", server.fingerprint,
        typed="1,0,0,0\n",
    )  # fmt: skip
    assert ran.said() == f"{name}\n"


def test_a_server_that_has_no_model_or_no_trust(server: FaultyServer) -> None:
    with pytest.raises(Rejected, match="new has learnt nothing yet: of its 0 check-ins"):
        load_model(f"{server.url}/tasks/new", fingerprint=server.fingerprint)
    with pytest.raises(Untrusted):
        load_model(f"{server.url}/tasks/activity")
    with pytest.raises(InvalidInput, match="a link must name a task"):
        load_model(server.url)
