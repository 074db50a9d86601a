"""Test the one-file device on a phone: termux-sensor gives the samples of the Python device."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml import one_file_device as standalone
from crowdml.device.sources.sensing import Sensing
from crowdml.protocol import Task
from experiments.sources.apps import LABELS, Moment, record, termux_session
from tests.device.fakes import MemoryTransport
from tests.device.puppet import Answer, Puppet, serving
from tests.one_file_device.alone import Alone
from tests.support.brokers import eventually
from tests.support.servers import make_directed

MOMENTS = record(40, stretch=10)


def task_of(**sensor: Any) -> Task:
    sensor = {"kind": "motion", "rate": 20, "window": 24, "every": 0.5} | sensor
    settings: dict[str, Any] = {"collection__batch": 5000, "collection__buffer": 5000}
    settings |= {f"features__sensor.{key}": value for key, value in sensor.items()}
    return make_directed(target__labels=list(LABELS), **settings)


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
def alone(tmp_path: Path) -> Iterator[Alone]:
    puppet = Puppet()
    puppet.memory = MemoryTransport(task_of())
    with serving(puppet) as root:
        alone = Alone(tmp_path)
        joined = alone.join(f"{root}/join/activity")
        assert joined.returncode == 0, joined.stderr
        yield alone


def test_a_phone_senses_while_labels_change(alone: Alone) -> None:
    """Set labels from another process: each reading has the label that was set at its time."""
    memory = standalone.Memory(str(alone.file))
    device, now = standalone.Device(memory), [0.0]
    n_taken = [0]
    push = standalone.Sensing.push

    def counting(*arguments: Any) -> Any:
        n_taken[0] += 1
        return push(*arguments)

    def lines() -> Iterator[str]:
        other, before = standalone.Device(standalone.Memory(str(alone.file))), ""
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
    rows = memory.db.execute("SELECT sample FROM buffer").fetchall()
    found = [json.loads(row[0]) for row in rows]
    assert said == f"{len(found)} of 5000 samples wait for a check-in."
    assert [y for _, y in found] == [y for _, y in expected]
    np.testing.assert_allclose([x for x, _ in found], [x for x, _ in expected], rtol=1e-9)


def through_csv(moments: list[Moment]) -> list[Any]:
    terms = standalone.Terms(task_of().terms.text, "activity")
    sensing, found = standalone.Sensing(terms, 0.0), list[Any]()
    for m in moments:
        length = float(np.linalg.norm([m.x, m.y, m.z]))
        found += sensing.push(m.ms / 1000, length, m.label or None)
    return found


def test_as_a_program(alone: Alone) -> None:
    sense = ("run", "--source", "-", "--format", "termux")
    text = '{}\n{\n  "Accel": {\n    "values": [\n      1,\n      "x"\n    ]\n  }\n}\n^C bye\n'
    ran = alone.run(*sense, "--label", "walking", typed=text)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "what is read now counts as Walking.",
        "0 of 5000 samples wait for a check-in.",
    ]
    assert ran.stderr.startswith("skipped ")
    assert alone.run("label", "--none").returncode == 0
    ran = alone.run(*sense, typed=text)
    assert ran.stdout.startswith("no label is set: nothing is collected"), ran.stdout
    assert alone.run("label", "Cycling").stdout == "what is read now counts as Cycling.\n"
    assert alone.run("label", "--none").stdout.startswith("no label is set")
    assert alone.run("label", "fly").stderr.startswith("the label must be one of Still, ")
    for wrong in (
        ["label", "fly"],
        ["label"],
        ["label", "Still", "--none"],
        [*sense, "--source", "x"],
    ):
        assert alone.run(*wrong).returncode == 1


def test_statistics_that_make_no_sense(alone: Alone) -> None:
    """Ask a server that answers with the task instead of its statistics."""
    ran = alone.run("result")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("the statistics make no sense: ")


def test_a_server_without_pages_has_no_earlier_errors(tmp_path: Path) -> None:
    class WithoutPages(Puppet):
        def answer(self, method: str, path: str, body: bytes) -> Answer:
            if path.endswith("/stats"):
                return 200, {}, b'{"state": "stopped", "version": 7, "error": null}'
            return super().answer(method, path, body)

    puppet, alone = WithoutPages(), Alone(tmp_path)
    puppet.memory = MemoryTransport(task_of())
    with serving(puppet) as root:
        assert alone.join(f"{root}/join/activity").returncode == 0
        alone.remember(alone.state | {"places": [3]})
        ran = alone.run("result")
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
