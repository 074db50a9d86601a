"""Test the one-file device on a phone: termux-sensor gives the samples of the Python device."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml import one_file_device as standalone
from crowdml.device import Device, DeviceStore, set_label
from crowdml.device.sources.sensing import Sensing
from crowdml.errors import InvalidSample
from crowdml.protocol import Task
from experiments.sources.apps import LABELS, Moment, record, termux_session
from tests.device.fakes import MemoryTransport
from tests.device.scripted_server import Answer, ScriptedServer, serving
from tests.one_file_device.program import OneFileInProcess, OneFileProgram
from tests.support.servers import PATIENCE, eventually, make_direction_task

MOMENTS = record(40, stretch=10)


def task_of(**sensor: Any) -> Task:
    sensor = {"kind": "motion", "rate": 20, "window": 24, "every": 0.5} | sensor
    settings: dict[str, Any] = {"collection__batch": 5000, "collection__buffer": 5000}
    settings |= {f"features__sensor.{key}": value for key, value in sensor.items()}
    return make_direction_task(target__labels=list(LABELS), **settings)


@pytest.mark.parametrize(
    "sensor",
    [
        {"first_bin": 0.1},
        {"transform": "amplitudes", "scale": 300, "window": 15},
        {"transform": "summary", "scale": 20},
        {"trigger": "label-change", "every": 0},
    ],
)
def test_samples_are_those_of_the_python_device(sensor: dict[str, Any]) -> None:
    task = task_of(**sensor)
    features = task.terms.features
    assert features.sensor
    ours = Sensing(features.sensor, features.count)
    theirs = standalone.Sensing(standalone.Terms(task.terms.text, "activity"), 0.0)
    expected: list[Any] = []
    found: list[Any] = []
    for moment in MOMENTS:
        now, reading = moment.ms / 1000, float(np.linalg.norm([moment.x, moment.y, moment.z]))
        expected += ours.push(now, reading, moment.label or None)
        found += theirs.push(now, reading, moment.label or None)
    assert len(found) == len(expected) > 3
    for (x, y), taken in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, taken.x / max(1.0, np.linalg.norm(taken.x)), rtol=1e-9)
        assert LABELS[int(y)] == taken.y


@pytest.fixture
def program(tmp_path: Path) -> Iterator[OneFileProgram]:
    script = ScriptedServer()
    script.memory = MemoryTransport(task_of())
    with serving(script) as root:
        program = OneFileInProcess(tmp_path)
        joined = program.join(f"{root}/join/activity")
        assert joined.returncode == 0, joined.stderr
        yield program


def test_a_phone_senses_while_labels_change(program: OneFileProgram) -> None:
    """Set labels from another process: each reading has the label that was set at its time."""
    store = standalone.DeviceStore(str(program.file))
    device, now = standalone.Device(store), [0.0]
    n_taken = [0]
    push = standalone.Sensing.push

    def counting(*arguments: Any) -> Any:
        n_taken[0] += 1
        return push(*arguments)

    def lines() -> Iterator[str]:
        other, before = standalone.Device(standalone.DeviceStore(str(program.file))), ""
        for n, (moment, text) in enumerate(
            zip([None, *MOMENTS, None], termux_session(MOMENTS), strict=True)
        ):
            if moment:
                if moment.label != before:
                    assert eventually(lambda n=n: n_taken[0] == n - 1)  # type: ignore[misc]
                    other.set_label(moment.label.upper() or None)
                now[0], before = moment.ms / 1000, moment.label
            yield from text.splitlines(keepends=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standalone.Sensing, "push", counting)
        said = device.sense(lines(), 0.0, clock=lambda: now[0])
    expected = through_csv(MOMENTS)
    rows = store.db.execute("SELECT sample FROM buffer").fetchall()
    found = [json.loads(row[0]) for row in rows]
    assert said == f"{len(found)} of 5000 samples wait for a check-in."
    assert [y for _, y in found] == [y for _, y in expected]
    np.testing.assert_allclose([x for x, _ in found], [x for x, _ in expected], rtol=1e-9)


def test_readings_that_wait_keep_the_label_of_their_time(
    program: OneFileProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set a label while a check-in hangs: readings in the queue came before the label."""
    store = standalone.DeviceStore(str(program.file))
    device, now, read_all = standalone.Device(store), [0.0], threading.Event()
    device.set_label("Walking")
    monkeypatch.setattr(device, "check_in", lambda wait: read_all.wait(PATIENCE))

    def lines() -> Iterator[str]:
        other = standalone.Device(standalone.DeviceStore(str(program.file)))
        for n in range(200):
            if n == 150:
                other.set_label("Running")
            now[0] = n / 20
            yield f'{{"Accel": {{"values": [1, 2, {n % 7}]}}}}\n'
        read_all.set()

    device.sense(lines(), 0.0, clock=lambda: now[0])
    rows = store.db.execute("SELECT sample FROM buffer").fetchall()
    found = [LABELS[int(json.loads(row[0])[1])] for row in rows]
    assert list(dict.fromkeys(found)) == ["Walking", "Running"]
    assert found.count("Walking") == len(range(23, 150, 10))


@pytest.mark.parametrize("label", ["nan", "inf", "-inf", "1e300", "1e13", "fast", ""])
def test_labels_that_are_no_targets(tmp_path: Path, label: str) -> None:
    """Check that both devices reject them, and keep no sample with one that is set already."""
    sensor = {"kind": "light", "rate": 20, "window": 24, "every": 0.5, "transform": "summary"}
    settings: dict[str, Any] = {f"features__sensor.{key}": sensor[key] for key in sensor}
    settings |= {"target__labels": [], "model__kind": "ridge", "collection__batch": 5000}
    script, program = ScriptedServer(), OneFileInProcess(tmp_path)
    script.memory = MemoryTransport(make_direction_task(collection__buffer=5000, **settings))
    with serving(script) as root:
        assert program.join(f"{root}/join/activity").returncode == 0
        own_store = standalone.DeviceStore(str(program.file))
        device, now = standalone.Device(own_store), [0.0]
        with pytest.raises(standalone.DeviceError, match="the label must be a number"):
            device.set_label(label)
        with own_store.change() as state:
            state["label"] = label

        def lines() -> Iterator[str]:
            for n in range(100):
                now[0] = n / 20
                yield f'{{"Light": {{"values": [{n % 7}]}}}}\n'

        device.sense(lines(), 0.0, clock=lambda: now[0])
        assert own_store.n_samples() == 0
        Device.join(root, "activity", file=tmp_path / "device", accept_no_privacy=True).close()
        with closing(DeviceStore(tmp_path / "device")) as store:
            with pytest.raises(InvalidSample, match="label must"):
                set_label(store, label, 1)
            assert set_label(store, "-2.5", 1) == "-2.5"


def test_options_that_need_a_format(program: OneFileProgram) -> None:
    for option, value in (("--every", "60"), ("--label", "Still")):
        ran = program.run("run", option, value, typed="")
        assert (ran.returncode, ran.stdout) == (1, "")
        assert "--every and --label need --format termux" in ran.stderr


def through_csv(moments: list[Moment]) -> list[Any]:
    terms = standalone.Terms(task_of().terms.text, "activity")
    sensing, found = standalone.Sensing(terms, 0.0), list[Any]()
    for m in moments:
        length = float(np.linalg.norm([m.x, m.y, m.z]))
        found += sensing.push(m.ms / 1000, length, m.label or None)
    return found


def test_as_a_program(program: OneFileProgram) -> None:
    program = OneFileProgram(program.folder)
    sense = ("run", "--source", "-", "--format", "termux")
    text = '{}\n{\n  "Accel": {\n    "values": [\n      1,\n      "x"\n    ]\n  }\n}\n^C bye\n'
    ran = program.run(*sense, "--label", "walking", typed=text)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "what is read now counts as Walking.",
        "0 of 5000 samples wait for a check-in.",
    ]
    assert ran.stderr.startswith("skipped ")
    assert program.run("label", "--none").returncode == 0
    ran = program.run(*sense, typed=text)
    assert ran.stdout.startswith("no label is set: nothing is collected"), ran.stdout
    assert program.run("label", "Cycling").stdout == "what is read now counts as Cycling.\n"
    assert program.run("label", "--none").stdout.startswith("no label is set")
    assert program.run("label", "fly").stderr.startswith("the label must be one of Still, ")
    for wrong in (
        ["label", "fly"],
        ["label"],
        ["label", "Still", "--none"],
        [*sense, "--source", "x"],
    ):
        assert program.run(*wrong).returncode == 1


def test_statistics_that_make_no_sense(program: OneFileProgram) -> None:
    """Ask a server that answers with the task instead of its statistics."""
    ran = program.run("result")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("the statistics make no sense: ")


NO_ERROR: dict[str, Any] = {"state": "stopped", "version": 7, "error": None}


@pytest.mark.parametrize(
    "change",
    [
        {"error": {"value": 10**350, "margin": 0}}, {"error": {"value": 0.1, "margin": 10**350}},
        {"error": {"value": 0.5, "margin": -0.3}}, {"error": {"value": "0.1", "margin": 0}},
        {"error": {"value": True, "margin": 0}}, {"error": {"value": 0.1}}, {"error": 3},
        {"version": 10**400}, {"version": -1}, {"version": 7.0}, {"state": "odd"}, {"state": []},
    ],
)  # fmt: skip
def test_statistics_of_a_strange_server(change: dict[str, Any]) -> None:
    assert standalone.read_statistics(NO_ERROR) == NO_ERROR
    with pytest.raises(standalone.DeviceError, match="the statistics make no sense"):
        standalone.read_statistics(NO_ERROR | change)


def test_a_server_without_pages_has_no_earlier_errors(tmp_path: Path) -> None:
    class WithoutPages(ScriptedServer):
        def answer(self, method: str, path: str, body: bytes) -> Answer:
            if path.endswith("/stats"):
                return 200, {}, b'{"state": "stopped", "version": 7, "error": null}'
            return super().answer(method, path, body)

    script, program = WithoutPages(), OneFileProgram(tmp_path)
    script.memory = MemoryTransport(task_of())
    with serving(script) as root:
        assert program.join(f"{root}/join/activity").returncode == 0
        program.remember(program.state | {"versions": [3]})
        ran = program.run("result")
    assert ran.stdout.splitlines() == [
        "The task activity has ended, after 7 check-ins.",
        "Yours was check-in 3 of 7.",
        "How often the crowd’s model is wrong is not known.",
        f"What was learnt: {root}/tasks/activity",
    ], ran.stderr


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"Vendor": {"values": [3, 4, 12]}}, 13.0),
        ({"Gyro": {"values": [1, 1, 1]}, "Linear Accel": {"values": [9, 9, 9]},
          "ACCELEROMETER": {"values": [0, 3, 4]}}, 5.0),
        ({}, None), ({"A": {"values": [1]}, "B": {"values": [2]}}, None),
        ({"A": 3}, ValueError), ({"A": {"values": []}}, ValueError), ([], ValueError),
        ({"A": {"values": [1, None, 3]}}, ValueError), ({"A": {"values": [1e308] * 3}}, ValueError),
    ],
)  # fmt: skip
def test_objects_of_termux(document: object, expected: Any) -> None:
    if expected is ValueError:
        with pytest.raises(ValueError, match="expected"):
            standalone.termux_reading(json.dumps(document), "motion")
    else:
        assert standalone.termux_reading(json.dumps(document), "motion") == expected
