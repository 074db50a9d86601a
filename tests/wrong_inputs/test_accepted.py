"""Inputs that look wrong and are accepted, each with its argument; and the size of the tables."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml import Device, Limits, Task
from crowdml.device.network.link import read_link
from crowdml.device.sources import feed
from crowdml.server import Settings
from crowdml.sklearn import CrowdClassifier
from tests.device.fakes import MemoryTransport, join
from tests.protocol import test_review, test_rules
from tests.protocol.files import task_file
from tests.server.http import test_bad_input as bad
from tests.support.servers import make_task
from tests.wrong_inputs import (
    test_command_line,
    test_estimators,
    test_python,
    test_rows,
)
from tests.wrong_inputs.test_estimators import HALVES, ROWS

X = [0.1, 0.2, 0.3, 0.4]
DIRECTION: dict[str, str | None] = {"privacy.mechanism": '"direction"', "collection.buffer": None}
NAMED: dict[str, str | None] = {"features.count": "2"}


def task(changes: dict[str, str | None]) -> Callable[[Path], object]:
    return lambda folder: Task.from_toml(task_file(changes))


def device(folder: Path, **changes: Any) -> Device:
    return join(folder / "device", MemoryTransport(make_task(collection__batch=29, **changes)))


def fed(text: str, **changes: Any) -> Callable[[Path], object]:
    """Feed a file to a device; all of its samples must be kept."""

    def call(folder: Path) -> None:
        (folder / "rows.csv").write_text(text, encoding="utf-8")
        said: list[str] = []
        with device(folder, **changes) as one:
            result = feed(one, str(folder / "rows.csv"), wait=0,
                          on_skip=lambda error: said.append(str(error)))  # fmt: skip
        assert (said, result.kept) == ([], len(text.splitlines()) - text.startswith("a,"))

    return call


def add(x: Any, y: Any) -> Callable[[Path], object]:
    def call(folder: Path) -> None:
        with device(folder) as one:
            one.add(x, y)

    return call


def fit(groups: Any) -> Callable[[Path], object]:
    return lambda folder: CrowdClassifier(bounds=(-1, 1)).fit(ROWS, HALVES, groups)


ACCEPTED: dict[str, tuple[Callable[[Path], object], str]] = {
    "privacy.epsilon = inf": (
        task({"privacy.epsilon": "inf"}),
        "ε = ∞ means no noise; pages, commands and devices say NOT PRIVATE, and ask"),
    "Limits(inf, inf)": (
        lambda folder: Limits(math.inf, math.inf),
        "a participant may decide not to limit ε; the terms still limit it"),
    "names that differ in case": (
        task(NAMED | {"features.names": '["pH", "PH"]'}),
        "units and substances differ in case only: Co and CO"),
    "a comma in a column's name": (
        task(NAMED | {"features.names": '["a,b", "c"]'}),
        "CSV quotes such a name, and JSON has no such problem; labels are stricter"),
    "a quote in a label": (
        task({"target.labels": '["a\\"b", "\'a"]'}),
        "CSV doubles a quote, and reads it back"),
    "labels that are numbers": (
        task({"target.labels": '["1", "2", "3"]'}), "they are matched as text; 1.0 is rejected"),
    "counters = 0.9": (
        task(DIRECTION | {"collection.counters": "0.9"}),
        "the owner may want the shares of labels; the default evaluators then become 0"),
    "a window of one reading": (
        task({"features.sensor.kind": '"light"', "features.sensor.transform": '"summary"',
              "features.sensor.window": "1"}),
        "mean, smallest and largest are then the reading itself, and the deviation is 0"),
    "model.delta with softmax": (
        task({"model.delta": "2"}), "it is not used for labels, and changes nothing that is sent"),
    "a byte order mark in TOML": (
        lambda folder: Task.from_toml("\ufeff" + task_file()), "editors on Windows write it"),
    "Windows line ends in TOML": (
        lambda folder: Task.from_toml(task_file().replace("\n", "\r\n")),
        "TOML allows both kinds of line ends"),
    "True among readings": (
        add([True, False, 0, 1], "walk"), "a switch is a reading: on is 1 and off is 0"),
    "readings longer than 1": (
        add([1e6, 0, 0, 0], "walk"), "the row is rescaled; most rows like this stop a run"),
    "x as a tuple, y as a NumPy text": (
        add(tuple(X), np.str_("walk")), "both say the same as a list and a text"),
    "integers and NumPy integers": (
        add(np.array([0, 1, 0, 0]), "walk"), "whole numbers are numbers"),
    "spaces around cells": (
        fed(" 0.1 , 0.2,0.3 ,0.4, walk \n"), "spreadsheets and people add them; no value has one"),
    "empty lines": (fed("0.1,0.2,0.3,0.4,walk\n"), "a file may end with them"),
    "numbers with an exponent or a sign": (
        fed("1e-3,+0.2,-.3,0.,walk\n"), "every programming language writes such numbers"),
    "samples of one label": (
        fed("0.1,0.2,0.3,0.4,walk\n0.2,0.2,0.3,0.4,walk\n"), "one person may have one label only"),
    "up to nine rows that are the same": (
        fed("0.1,0.2,0.3,0.4,walk\n" * 9), "a sensor at rest repeats itself for a while"),
    "columns in another order": (
        fed("a,y,b\n0.1,walk,0.2\n", features__count=2, features__names=["a", "b"]),
        "columns are found by their names"),
    "columns that the task does not have": (
        fed("a,b,time,y\n0.1,0.2,9,walk\n", features__count=2, features__names=["a", "b"]),
        "they stay on the device, and a note names them once"),
    "flush(inf)": (
        lambda folder: device(folder).flush(math.inf), "it waits as long as a check-in waits"),
    "a user name in a link": (
        lambda folder: read_link("https://ann:pw@host/join/a"),
        "it is never sent: devices prove themselves by a token"),
    "a link to a task's page": (
        lambda folder: read_link("https://host/tasks/a"), "people copy it from the browser"),
    "no event streams": (
        lambda folder: Settings(most_listeners=0), "an operator may turn event streams off"),
    "groups of numbers and texts": (fit([1, "a"] * 10), "NumPy makes texts of them, which differ"),
    "groups as a column": (fit([[1]] * 20), "a table's column has this shape"),
    "a class that the model never saw": (
        lambda folder: test_python.MODEL.score([X], ["swim"]),
        "a test set may have classes that the model never saw; each is an error"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "why"), ACCEPTED.values(), ids=ACCEPTED)
def test_what_is_accepted(tmp_path: Path, call: Callable[[Path], object], why: str) -> None:
    call(tmp_path)
    assert len(why) > 20, "an acceptance needs an argument"


def test_the_tables_are_large() -> None:
    """Count the wrong inputs of all ways in."""
    ways_in = {
        "task files": len(test_rules.CASES) + len(test_review.NOT_TOML)
        + sum(len(values) for _, values in test_review.WRONG.values()),
        "command lines": len(test_command_line.ERRORS) + len(test_command_line.USAGE),
        "rows": len(test_rows.CSV) + len(test_rows.QUOTES) + len(test_rows.JSON),
        "messages of a topic": len(test_rows.BYTES),
        "Python": len(test_python.FREE) + len(test_python.SAMPLES) + len(test_python.JOINS)
        + len(test_python.CALLS) + len(test_python.READINGS) + len(test_python.NUMBERS)
        + sum(len(values) for _, _, values in test_python.OF_DEVICES.values())
        + sum(len(values) for _, _, values in test_python.OF_STORES.values()),
        "estimators": len(test_estimators.CLASSIFIERS) + len(test_estimators.PAIRS)
        + len(test_estimators.GROUPS) + 2 * len(test_estimators.TABLES)
        + 3 * len(test_estimators.LATER),
        "HTTP": len(bad.NO_TASKS) + len(bad.NOWHERE) + len(bad.METHODS) + len(bad.ROLES)
        + len(bad.FORMATS) + 3 * len(bad.TOKENS) + 2 * len(bad.BODIES) + len(bad.ENROLMENTS)
        + sum(map(len, bad.NOISY.values())) + len(bad.IMPLAUSIBLE),
    }  # fmt: skip
    assert min(ways_in.values()) >= 40, ways_in
    assert sum(ways_in.values()) >= 1300, ways_in
