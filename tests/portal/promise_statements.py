"""Every place that states a promise, for twelve sets of terms.

`python -m tests.portal.promise_statements` prints what each of them states, as a table.
"""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import crowdml
from crowdml import one_file_device as standalone
from crowdml.cli.consent import in_plain_words
from crowdml.device import default_limits
from crowdml.protocol import Task, Terms
from crowdml.protocol.numbers_in_words import four_digits_up
from crowdml.server import Store
from crowdml.server.database.store import DeviceRow
from crowdml.server.results.card import model_card
from tests.portal.owner_browser import Portal
from tests.server.learners import arrivals, new_learner
from tests.support.servers import create, make_task

MOTION: dict[str, Any] = {"features__count": 33, "features__sensor.kind": "motion"}
OFTEN = MOTION | {"features__sensor.every": 1}
TYPED: dict[str, Any] = {
    "features__count": 2, "features__sensor.kind": "manual",
    "features__sensor.transform": "values", "features__sensor.fields": ["weight", "height"],
}  # fmt: skip
NUMBER: dict[str, Any] = {
    "target__labels": None, "model__kind": "ridge", "model__tolerance": 0.25, "model__clip": 1.0,
}  # fmt: skip
CROWD = 20
"""Enough devices that one of them trains, by the public rule."""

FORTY = [f"label {k}" for k in range(40)]


def _task(name: str, mechanism: str, epsilon: float, **changes: Any) -> Task:
    if mechanism == "direction":
        changes.pop("model__clip", None)
    return make_task(name, privacy__mechanism=mechanism, privacy__epsilon=epsilon, **changes)


TASKS = [
    _task("usual", "direction", 4.0, **MOTION),
    _task("strong", "direction", 1.0, **MOTION),
    _task("four-times", "direction", 4.0, collection__checkins=4, **OFTEN),
    _task("weak", "direction", 8.0, **MOTION),
    _task("boundary", "direction", 20.0, **MOTION),
    _task("beyond", "direction", 20.1, **MOTION),
    _task("two-labels", "direction", 4.0, target__labels=["yes", "no"], **TYPED),
    _task("forty-labels", "direction", 1.0, target__labels=FORTY, **MOTION),
    _task("a-number", "direction", 4.0, **TYPED, **NUMBER),
    _task("laplace", "laplace", 1.0, **MOTION),
    _task("overlapping", "laplace", 5.0, **OFTEN),
    _task("gaussian", "gaussian", 0.2, **OFTEN),
]


class Stated(NamedTuple):
    """What a place states.

    Args:
        pill: The level, and ε beside it where the place shows one.
        leaves: What leaves the device.
        lost: What can be learnt from it.
    """

    pill: str
    leaves: str
    lost: str


class Stating:
    """Ask each place what it states.

    Args:
        portal: A running portal with all tasks.
        store: A database for model cards.
    """

    def __init__(self, portal: Portal, store: Store) -> None:
        self._portal, self._store = portal, store
        self._browser = json.loads(_node([task.terms.text for task in TASKS]))

    def value(self, task: Task) -> Stated:
        promise = task.terms.promise
        return Stated(
            str(promise.level.pill),
            " ".join(map(str, promise.what_leaves)),
            " ".join(map(str, promise.what_is_lost)),
        )

    def javascript(self, task: Task) -> Stated:
        return Stated(*self._browser[TASKS.index(task)])

    def one_file(self, task: Task) -> Stated | None:
        if task.terms.mechanism_name != "direction":
            return None
        said = standalone.promise(standalone.Terms(task.terms.text, task.name))
        leaves = [said[name] for name in standalone.SENDING_SENTENCES if name in said]
        lost = [said[name] for name in standalone.LOSS_SENTENCES if name in said]
        return Stated(said["level"], " ".join(leaves), " ".join(lost))

    def consent_page(self, task: Task) -> Stated:
        page = self._page(f"/join/{task.name}")
        return Stated(*(_inside(page, name) for name in ("lose-level", "leaves-said", "lose-said")))

    def command_line(self, task: Task) -> Stated:
        lines = in_plain_words(task.terms, default_limits(task.terms))
        texts = dict(re.split(r": +", line, maxsplit=1) for line in lines if ": " in line)
        pill, lost = texts["What you lose"].split(". ", 1)
        return Stated(pill, texts["What leaves"], lost)

    def card(self, task: Task) -> Stated:
        learner = new_learner(self._store, task, n=CROWD)
        crowd = [DeviceRow(1, i, f"{task.name}-{i}", "active") for i in range(CROWD)]
        learner.ingest(arrivals(task, CROWD, crowd))
        text = model_card(learner)
        (pill,) = re.findall(
            r"\*\*(.*)\.\*\* Participants who do not choose a limit read this", text
        )
        leaves, lost = re.findall(r"^> (.*)$", text, re.M)
        return Stated(pill, leaves, lost)

    def chips(self, task: Task) -> set[str]:
        """The level and ε in the list, on the task's page and on the page for joining."""
        pages = {
            "list": self._page(f"/?q={task.name}"),
            "task": self._page(f"/tasks/{task.name}"),
            "join": self._page(f"/tasks/{task.name}/join"),
            "consent": self._page(f"/join/{task.name}"),
        }
        found = set()
        for page in pages.values():
            for chip in re.findall(r'<span[^>]*class="level level-[^>]*>.*?ε = [^<]*', page):
                found.add(_text(chip))
        return found

    def task_page(self, task: Task) -> str:
        return _text(self._page(f"/tasks/{task.name}"))

    def privacy_page(self) -> str:
        return _text(self._page("/privacy"))

    def _page(self, path: str) -> str:
        with self._portal.browser() as browser:
            return browser.get(path).body.decode()


@contextmanager
def stating(folder: Path) -> Iterator[Stating]:
    portal = Portal(folder)
    create(portal.database, *TASKS)
    portal.start()
    with closing(Store(f"sqlite:///{folder / 'cards.db'}")) as store:
        yield Stating(portal, store)
    assert portal.stop() == 0, portal.output


def chip(terms: Terms) -> str:
    """Return the level with the ε that decided it."""
    promise = terms.promise
    return f"{promise.level.pill} ε = {four_digits_up(promise.epsilon)}"


SCRIPT = """
import { readFileSync } from "node:fs";
const { Terms, write } = await import(process.argv[1]);
const stated = JSON.parse(readFileSync(0, "utf8")).map((text) => {
  const promise = Terms.parse(text).promise();
  const said = (phrases) => phrases.map((phrase) => write(phrase)).join(" ");
  return [write(promise.level.pill), said(promise.whatLeaves), said(promise.whatIsLost)];
});
process.stdout.write(JSON.stringify(stated));
"""


def _node(texts: list[str]) -> str:
    index = (Path(crowdml.__file__).parent / "web" / "index.js").as_uri()
    ran = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT, index],
        input=json.dumps(texts), capture_output=True, text=True, check=True,
        env=os.environ | {"NODE_OPTIONS": "--experimental-global-webcrypto"},
    )  # fmt: skip
    return ran.stdout


def _inside(page: str, name: str) -> str:
    """Return the text of the element with this id."""
    (found,) = re.findall(rf'<(span|div) id="{name}"[^>]*>(.*?)</\1>', page, re.S)
    return _text(found[1])


def _text(html: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", html)).split())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, stating(Path(folder)) as places:
        for task in TASKS:
            truth = places.value(task)
            others = {
                "JavaScript": places.javascript(task),
                "one file": places.one_file(task),
                "consent page": places.consent_page(task),
                "command line": places.command_line(task),
                "model card": places.card(task),
            }
            equal = [name for name, stated in others.items() if stated == truth]
            other = [name for name, stated in others.items() if stated not in (truth, None)]
            print(f"| {task.name} | {chip(task.terms)} | {', '.join(equal)} | {other or 'none'} |")


if __name__ == "__main__":
    main()
