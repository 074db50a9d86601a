"""Follow CONTRIBUTING.md to add a sensor, and check that no other place needs to know it.

Python follows the steps in this process, JavaScript in a folder of links with one more module.
"""

import asyncio
import json
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.applications import Starlette

from crowdml import one_file_device as standalone
from crowdml.device import features_of
from crowdml.device.sources.recording import read_readings
from crowdml.errors import InvalidSample, InvalidTask
from crowdml.portal import create_portal_app
from crowdml.portal.pages.owner.fields import DEFAULTS
from crowdml.portal.pages.owner.task_toml import task_toml
from crowdml.portal.words import language
from crowdml.protocol import SENSORS, Sensor, Task, Terms
from crowdml.protocol.features import sensors
from crowdml.server import Settings, Store
from crowdml.server.http.public_address import PublicAddress
from tests.portal.call_app import call
from tests.support.contributing_steps import ROOT, overlay, steps
from tests.support.servers import make_task

NEW = "magnetism"
PYTHON, MODULE, REGISTRY, GERMAN = steps("Add a sensor")
TEXTS = tomllib.loads(GERMAN.code)
SENSOR: dict[str, Any] = {
    "features__count": 4, "features__sensor.kind": NEW, "features__sensor.rate": 10,
    "features__sensor.window": 4, "features__sensor.transform": "summary",
    "features__sensor.every": 0, "privacy__mechanism": "direction",
}  # fmt: skip
FIELD = [(3.0, 0.0, 4.0), (0.0, 6.0, 8.0), (9.0, 12.0, 0.0), (0.0, 0.0, 20.0), (5.0, 0.0, 0.0)]
LENGTHS = [5.0, 10.0, 15.0, 20.0]
"""The lengths of the vectors that a magnetometer gives; the last vector only ends the window."""

SCRIPT = """
import { Sensing, Terms } from "./index.js";
import { SENSORS, sourceOf } from "./sensors/index.js";

const terms = Terms.parse(process.argv[1]);
const { sensor, count } = terms.features;
let missing;
try { sourceOf(sensor.kind); } catch (error) { missing = error.message; }
globalThis.Magnetometer = class {
  constructor({ frequency }) { Object.assign(this, { frequency, stopped: false }); device = this; }
  start() { this.onactivate(); }
  stop() { this.stopped = true; }
};
let device;
const source = sourceOf(sensor.kind);
const sensing = new Sensing(sensor, count);
const taken = [];
const stop = await source.start((time, reading) => {
  for (const { x } of sensing.push(time, reading, 1)) taken.push([...x]);
}, sensor);
JSON.parse(process.argv[2]).forEach(([x, y, z], k) => {
  Object.assign(device, { x, y, z, timestamp: 1000 + 100 * k });
  device.onreading();
});
stop();
const { frequency, stopped } = device;
const { name, unit } = source;
const said = { name: name.template, unit, missing, kinds: Object.keys(SENSORS) };
console.log(JSON.stringify({ ...said, taken, frequency, stopped }));
"""


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Follow the steps in Python and German in this process; the end of a test takes them back."""
    (entry,) = eval(f"{{{PYTHON.code}}}", vars(sensors)).items()
    monkeypatch.setitem(SENSORS, *entry)
    path = Path(GERMAN.file).relative_to("crowdml/portal/languages")
    text = GERMAN.done((ROOT / GERMAN.file).read_text(), "")
    folder = overlay(tmp_path / "languages", language.FOLDER, {str(path): text})
    monkeypatch.setattr(language, "FOLDER", folder)
    language.catalogue.cache_clear()
    language._spoken.cache_clear()
    yield
    language.catalogue.cache_clear()
    language._spoken.cache_clear()


def test_the_steps_name_the_files() -> None:
    assert [(step.what, step.file) for step in steps("Add a sensor")] == [
        ("Add to", "crowdml/protocol/features/sensors.py"),
        ("Write", f"crowdml/web/sensors/{NEW}.js"),
        ("Add to", "crowdml/web/sensors/index.js"),
        ("Add to", "crowdml/portal/languages/de/sensors.toml"),
    ]


def test_before_it_is_registered_nobody_takes_it() -> None:
    must = "must be motion, sound, light, speed or manual, found"
    with pytest.raises(InvalidTask, match=f'features.sensor.kind {must} "{NEW}"'):
        make_task(**SENSOR)
    with pytest.raises(ValueError, match=NEW):
        Sensor(NEW)
    with pytest.raises(msgspec.ValidationError, match=NEW):
        msgspec.convert({"kind": NEW}, Sensor)


@pytest.mark.usefixtures("added")
def test_a_task_of_it() -> None:
    """Check the task's file, its terms, what a server stores, and devices that are not phones."""
    task = make_task(**SENSOR)
    text = task.terms.text
    assert Terms.parse(text) == task.terms
    assert Task.from_json(msgspec.json.encode(task)) == task
    assert standalone.Terms(text, task.name).D == 4
    lines = [f"{k / 10},{','.join(map(str, b))},walk" for k, b in enumerate(FIELD)]
    (sample,) = read_readings(lines, task.terms.features, task.terms.target.labels)
    assert not isinstance(sample, InvalidSample)
    assert sample[0] == pytest.approx([12.5, 5.590169943749474, 5.0, 20.0])
    with pytest.raises(InvalidTask, match=f"must be motion, sound, light, speed, manual or {NEW}"):
        make_task(**SENSOR | {"features__sensor.kind": "smell"})


async def get(app: Starlette, path: str, tongue: str, cookie: str = "") -> str:
    more = {"accept-language": tongue, "cookie": f"crowdml={cookie}"}
    status, body = await call(app, "GET", path, more=more)
    assert status == 200, body
    return unescape(body.decode())


@pytest.mark.usefixtures("added")
def test_the_pages_of_it(tmp_path: Path) -> None:
    """Show consent, the worked example and the owner's form, in both languages."""
    settings = Settings(database=f"sqlite:///{tmp_path / 'crowdml.db'}")
    with closing(Store(settings.database)) as store:
        store.create_task(make_task("field", **SENSOR))
        store.owners.add("ana", "correct horse battery")
        cookie = store.owners.open_session("ana")
    app = create_portal_app(settings, PublicAddress())

    async def visit() -> None:
        async with app.router.lifespan_context(app):
            for tongue in language.LANGUAGES:
                kind = SENSORS[NEW]
                with language.use_language(tongue):
                    words, consent = language.say(kind.words), language.say(kind.consent)
                if tongue == "de":
                    assert {words, consent} <= set(TEXTS.values())
                assert f"<p>{consent}, " in await get(app, "/join/field", tongue)
                page = await get(app, "/tasks/field", tongue)
                assert words in page
                example = page.partition({"en": "4 readings of", "de": "4 Messwerte de"}[tongue])[2]
                readings = example.partition('role="region"')[2].partition(">")[2].split()[:4]
                assert all(25 < float(each.replace(",", ".")) < 75 for each in readings), readings
                form = await get(app, "/owner/new?draft=0123456789abcdef", tongue, cookie)
                shown = {"en": f"{NEW}: {words}", "de": f"{words} ({NEW})"}[tongue]
                assert f'<option value="{NEW}">{shown}</option>' in form

    asyncio.run(visit())


@pytest.mark.usefixtures("added")
def test_the_owners_form_makes_a_task_of_it() -> None:
    form = DEFAULTS | {
        "title": "Lifts", "objective": "to learn", "owner": "Jane Doe", "purpose": "a free app",
        "contact": "jane@example.org", "sensors": "the magnetic field", "target.labels": "a\nb",
        "features.sensor.kind": NEW,
    }  # fmt: skip
    assert Task.from_toml(task_toml(form)).terms.features.sensor == Sensor(NEW)


@pytest.mark.usefixtures("added")
def test_a_browser_reads_it(tmp_path: Path) -> None:
    """Read the sensor by the JavaScript device with one more module, and compare with Python."""
    registry = REGISTRY.done((ROOT / REGISTRY.file).read_text(), "SENSORS")
    web = Path("crowdml/web")
    changed = {MODULE.file: MODULE.code, REGISTRY.file: registry}
    folder = overlay(
        tmp_path / "web",
        ROOT / web,
        {str(Path(file).relative_to(web)): text for file, text in changed.items()},
    )
    terms = make_task(**SENSOR).terms
    node = ["node", "--experimental-global-webcrypto", "--preserve-symlinks", "--input-type=module"]
    done = subprocess.run(
        [*node, "-e", SCRIPT, terms.text, json.dumps(FIELD)],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert NEW in found["kinds"]
    assert sorted(found["kinds"]) == sorted(SENSORS)
    assert found["missing"].startswith(f"This browser has no {found['name']}.")
    assert language.catalogue("de", "sensors")[found["name"]] in TEXTS.values()
    assert (found["unit"], found["frequency"], found["stopped"]) == ("µT", 10, True)
    (x,) = found["taken"]
    assert terms.features.sensor is not None
    assert x == pytest.approx(features_of(terms.features.sensor, 4, LENGTHS).tolist())
