"""Check that every kind is known in all places, and that the steps to add one work as written."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from crowdml.models import MODELS
from crowdml.optim import OPTIMIZERS, RATES
from crowdml.portal.pages.owner.fields import FIELDS
from crowdml.protocol import MECHANISMS, SENSORS
from tests.support.contributing_steps import ROOT, Step, steps

NEW = "absolute"


def choices(key: str) -> Iterable[str]:
    return [value for value, _ in FIELDS[key].choices]


def documented(key: str) -> Iterable[str]:
    """Return the names in a field's row of docs/tasks.md, from the field's own table."""
    table, _, field = key.rpartition(".")
    text = (ROOT / "docs/tasks.md").read_text().partition(f"**[{table}]**")[2]
    (row,) = re.findall(rf"^\| `{field}` \|.*$", text.partition("**[")[0], re.MULTILINE)
    return re.findall(r"`([\w-]+)`", row)


def in_javascript(file: str, name: str) -> Iterable[str]:
    script = (
        f"import {{ {name} }} from './{file}'; console.log(JSON.stringify(Object.keys({name})))"
    )
    command = ["node", "--input-type=module", "-e", script]
    found: list[str] = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True).stdout)
    return found


def in_vectors() -> Iterable[str]:
    cases = json.loads((ROOT / "tests/vectors/gradients.json").read_text())
    return {case["input"]["kind"] for case in cases}


PLACES: list[tuple[str, Iterable[str], Callable[[], Iterable[str]]]] = [
    ("crowdml/web/models/index.js", MODELS, lambda: in_javascript(
        "crowdml/web/models/index.js", "MODELS")),
    ("tests/vectors/gradients.json", MODELS, in_vectors),
    ("docs/tasks.md, model.kind", MODELS, lambda: documented("model.kind")),
    ("the owner's form, model.kind", MODELS, lambda: choices("model.kind")),
    ("docs/tasks.md, optimizer.kind", OPTIMIZERS, lambda: documented("optimizer.kind")),
    ("the owner's form, optimizer.kind", OPTIMIZERS, lambda: choices("optimizer.kind")),
    ("docs/tasks.md, optimizer.rate", RATES, lambda: documented("optimizer.rate")),
    ("the owner's form, optimizer.rate", RATES, lambda: choices("optimizer.rate")),
    ("crowdml/web/mechanisms/index.js", MECHANISMS, lambda: in_javascript(
        "crowdml/web/mechanisms/index.js", "MECHANISMS")),
    ("docs/tasks.md, privacy.mechanism", MECHANISMS, lambda: documented("privacy.mechanism")),
    ("the owner's form, privacy.mechanism", MECHANISMS, lambda: choices("privacy.mechanism")),
    ("crowdml/web/sensors/index.js", SENSORS, lambda: in_javascript(
        "crowdml/web/sensors/index.js", "SENSORS")),
    ("docs/tasks.md, features.sensor.kind", SENSORS, lambda: documented("features.sensor.kind")),
    ("the owner's form, features.sensor.kind", SENSORS, lambda: choices("features.sensor.kind")),
]  # fmt: skip


@pytest.mark.parametrize(("place", "kinds", "covered"), PLACES, ids=[place[0] for place in PLACES])
def test_every_kind_is_covered(
    place: str, kinds: Iterable[str], covered: Callable[[], Iterable[str]]
) -> None:
    missing = set(kinds) - set(covered())
    assert not missing, f"{place} does not know {', '.join(sorted(missing))}"


def uncovered() -> list[str]:
    """Return the places that the test above names."""
    return [place for place, kinds, covered in PLACES if set(kinds) - set(covered())]


# Follow "Add a model" in CONTRIBUTING.md


def follow(root: Path, step: Step) -> None:
    target = root / step.file
    target.write_text(step.done(target.read_text() if target.exists() else "", "MODELS"))


class Copy:
    """Copy the repository to another folder, to change it there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # Copy compiled files too, except for files that are being written.
        unfinished = shutil.ignore_patterns("*.tmp.*", "*.pyc.*")
        for name in ("crowdml", "tests", "docs"):
            shutil.copytree(ROOT / name, root / name, ignore=unfinished)
        for name in ("CONTRIBUTING.md", "pyproject.toml", "package.json"):
            shutil.copy(ROOT / name, root / name)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "PYTHONPATH": str(self.root),
            "NODE_OPTIONS": "--experimental-global-webcrypto",
        }
        return subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True
        )

    def python(self, code: str) -> str:
        done = self.run(sys.executable, "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout


LOOK = """
from tests.test_kinds import uncovered
print(*uncovered(), sep="\\n")
"""

USE = """
import numpy as np
from crowdml.checks import check_model
from crowdml.models import MODELS
from crowdml.portal.words import plain as words
from crowdml.protocol import Task

check_model(MODELS["absolute"].model(3, 0), np.random.default_rng(1))
task = Task.from_toml('''
name = "noise"
title = "Noise"
objective = "to learn"
owner = "Jane Doe"
contact = "jane@example.org"
purpose = "a free app"
sensors = "microphone"
features = {count = 3}
model = {kind = "absolute"}
privacy = {epsilon = 1.0}
collection = {batch = 5}
stop = {updates = 100}
''')
print(task.terms.make_model().__class__.__name__, words.model_name(task.terms.model.kind))
"""

LEARN = """
import warnings
import numpy as np
from crowdml.simulation import Crowd, Learning, Plan, simulate
from crowdml.simulation.datasets import Dataset

rng = np.random.default_rng(0)
x = rng.uniform(-0.3, 0.3, size=(2000, 3))
y = x @ np.array([1.0, -2.0, 0.5])
data = Dataset("lines", (), x[:1500], y[:1500], np.zeros(1500, np.int64), x[1500:], y[1500:])
way = Learning(model="absolute", c=1.0, tolerance=0.1)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    print(simulate(data, [Plan(Crowd(devices=10), way)], points=1)[0].final)
"""


def test_the_way_to_add_a_model(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy")
    wanted = ["Write", "Write", "Add to", "Add to"]
    todo = steps("Add a model")
    assert sorted(step.what for step in todo) == sorted(wanted), "the section has other steps"
    python = [step for step in todo if step.file.endswith(".py")]
    javascript = [step for step in todo if step.file.endswith(".js")]
    for step in python:
        follow(copy.root, step)
    assert set(copy.python(LOOK).splitlines()) == {
        "crowdml/web/models/index.js",
        "tests/vectors/gradients.json",
        "docs/tasks.md, model.kind",
    }, "each place that needs a hand is named, and no other"
    for step in javascript:
        follow(copy.root, step)
    page = copy.root / "docs/tasks.md"
    page.write_text(page.read_text().replace("`ridge`, `huber` |", f"`ridge`, `huber`, `{NEW}` |"))
    made = copy.run(sys.executable, "-m", "tests.vectors.make")
    assert made.returncode == 0, made.stderr
    compared = copy.run("node", "--test", "tests/web/vectors.test.js")
    assert compared.returncode == 0, compared.stdout
    nothing, words, error = copy.python(LOOK + USE + LEARN).splitlines()
    assert (nothing, words) == ("", "Absolute Linear regression with absolute error")
    assert float(error) < 0.2
