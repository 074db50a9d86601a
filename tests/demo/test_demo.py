"""Run the demo as its viewers do, and check what it says before it starts."""

import contextlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from crowdml.demo.demo import Demo, _introduce, _serving
from crowdml.demo.tasks import demo_task
from crowdml.learnt import read_start
from crowdml.models import Softmax
from crowdml.protocol import MECHANISMS, Task
from crowdml.simulation import Dataset, error_rate, load_activity, load_digits
from tests.cli.command import Here
from tests.docs.pages import blocks, page
from tests.support.servers import Portal, make_task

FIELDS = {
    "error", "central_error", "guess_error", "recall", "checkins", "devices",
    "private_bytes_per_checkin", "mechanism", "epsilon",
}  # fmt: skip


@pytest.fixture
def here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Here:
    monkeypatch.setattr("crowdml.demo.demo.ServerProcess", Portal)
    return Here(tmp_path, capsys=capsys)


def deal(data: Dataset, devices: int) -> list[int]:
    """Return how many samples each device of the demo holds; the dealing is seeded with 0."""
    return [len(hand) for hand in data.deal(devices, np.random.default_rng(0))]


def saved_error(folder: Path, result: dict[str, Any], task: Task, data: Dataset) -> float:
    with np.load(folder / result["model"], allow_pickle=False) as archive:
        w = archive["weights"].ravel()
    return error_rate(task.terms.make_model(), w, data.x_test, data.y_test)


def test_whole_people_learn_privately(here: Here) -> None:
    """Learn from 108 people at a total ε = 4, one small number each; test on six other people.

    Guessing the commonest activity has an error of 0.547. In simulated crowds the error was 0.02 on
    average and never above 0.06; 0.2 is far beyond.
    """
    ran, tmp_path = here("demo", "--json", "--seconds", 1), here.folder
    result = ran.json()
    data = load_activity(features="demo")
    task = demo_task("activity", "direction", 4.0, deal(data, 108))
    assert set(result) >= FIELDS
    assert (result["devices"], result["checkins"]) == (108, 108)
    assert result["mechanism"] == "direction"
    assert result["epsilon"] == {"per_sample": 4.0, "per_person": 4.0}
    assert result["private_bytes_per_checkin"] <= 16
    assert result["error"] < 0.2
    assert result["central_error"] < 0.02
    assert result["guess_error"] == pytest.approx(0.547, abs=0.001)
    assert len(result["recall"]) == 3
    assert result["error"] == saved_error(tmp_path, result, task, data)
    assert "108 devices hold 6,474 samples of 18 people; each checks in once, with 52" in ran.err
    assert "watch it learn: https://127.0.0.1:" in ran.err
    assert "Ctrl-C" not in ran.err, "without a terminal it ends by itself"
    assert len(list((tmp_path / "crowdml-demo" / "devices").rglob("*.device"))) == 108
    used_as_the_readme_says(tmp_path, result["error"])


def used_as_the_readme_says(folder: Path, error: float) -> None:
    """Use the model in five lines with NumPy, scikit-learn and onnxruntime; compare the answers."""
    section = page("README.md").partition("## Use what was learnt")[2].partition("\n## ")[0]
    names: dict[str, Any] = {}
    with contextlib.chdir(folder):
        for block in blocks(section, "python"):
            assert len([line for line in block.splitlines() if line]) <= 5
            exec(block, names)
    by_numpy, by_sklearn, by_onnx = (names[f"by_{tool}"] for tool in ("numpy", "sklearn", "onnx"))
    assert (by_numpy == by_sklearn).all()
    assert np.mean(by_sklearn != names["y"]) == pytest.approx(error)
    # The input is rounded to single precision, so a row on the border may get either label.
    top = np.sort(names["model"].predict_proba(names["X"]), axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-4
    assert clear.mean() > 0.99
    assert (by_onnx == by_sklearn)[clear].all()
    assert np.abs(names["probabilities"] - names["model"].predict_proba(names["X"])).max() < 1e-4


def test_digits_without_noise_come_close_to_central(here: Here) -> None:
    """Learn without noise, where only the order of the samples is random."""
    ran = here(
        "demo", "--json", "--seconds", 1, "--task", "digits", "--mechanism", "gaussian",
        "--epsilon", "inf", "--devices", 60, "--folder", "here",
    )  # fmt: skip
    result = ran.json()
    assert set(result) >= FIELDS
    assert result["devices"] == 60
    assert result["epsilon"] == dict.fromkeys(result["epsilon"], "inf")
    assert result["error"] <= result["central_error"] + 0.1
    assert "THIS TASK IS NOT PRIVATE" in ran.err


def test_a_pilot_makes_a_small_epsilon_usable(here: Here) -> None:
    """Learn with a total ε = 1, from a start fitted to 60 samples of each of two people.

    In simulated crowds the error was 0.011 on average and never above 0.02; 0.1 is far beyond, and
    without a pilot the error is 0.14 on average.
    """
    ran = here("demo", "--json", "--seconds", 1, "--pilot", 2, "--epsilon", 1)
    result = ran.json()
    assert result["checkins"] == 108
    assert result["error"] < 0.1
    assert "samples of 16 people" in ran.err
    words = (
        "The model starts from a pilot of 120 samples of 2 people (their recordings are public)."
    )
    assert words in ran.err
    start = read_start((here.folder / "crowdml-demo" / "activity.start.npz").read_bytes(), "start")
    data = load_activity(features="demo").bounded(2)
    alone = error_rate(Softmax(12, 3), start.w, data.x_test, data.y_test)
    assert result["pilot_error"] == pytest.approx(alone)


# Before it starts


def introduction(demo: Demo, task: Task, data: Dataset) -> str:
    console = Console(file=io.StringIO(), record=True, width=500)
    _introduce(demo, task, data, console)
    return console.export_text()


def test_what_is_said_about_samples() -> None:
    data = load_digits()
    task = demo_task("digits", "gaussian", 4.0, deal(data, 60))
    said = introduction(Demo("digits", "gaussian", devices=60), task, data)
    assert "each checks in every 14 samples, and uses each once" in said
    assert "people" not in said


@pytest.mark.parametrize("name", ["activity", "digits"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.1, 10.0])
@pytest.mark.parametrize("sizes", [[5, 7, 11], [60, 61, 200]])
def test_every_device_can_fill_a_minibatch(
    name: str, mechanism: str, epsilon: float, sizes: list[int]
) -> None:
    task = demo_task(name, mechanism, epsilon, sizes)
    batch = task.terms.collection.batch
    assert batch <= min(sizes)
    once = mechanism == "direction"
    assert task.t_max == sum(1 if once else size // batch for size in sizes)
    assert task.terms.loss.total == pytest.approx(epsilon)
    assert task.terms.promise.epsilon_per_person == (epsilon if once else None)


def test_the_paper_s_way_is_still_there() -> None:
    task = demo_task("activity", "laplace", 1.0, [60] * 108)
    assert (task.optimizer.kind, task.optimizer.c, task.terms.model.clip) == ("adagrad", 3.0, 0.2)


# What it rejects


def test_the_portal_is_where_it_is_asked_to_be(tmp_path: Path) -> None:
    assert _serving(tmp_path, make_task(), 8765).url == "https://127.0.0.1:8765"


def test_a_folder_with_other_files_is_left_alone(here: Here, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("and more")
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "server.db").write_text("another server's")
    for folder in ("mine", "file", "served"):
        ran = here("demo", "--json", "--folder", folder)
        assert (ran.code, ran.out) == (1, "")
        last = ran.err.splitlines()[-1]
        assert last.startswith(f"crowdml: {folder} ")
        assert "--folder" in last
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"
    assert (tmp_path / "file").read_text() == "and more"
    assert (tmp_path / "served" / "server.db").read_text() == "another server's"
