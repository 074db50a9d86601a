"""Run Figure 3 on a live server: seven people's motion, replayed by Python devices or by phones.

    CROWDML_DATA=FOLDER python experiments/activity/live.py python
    CROWDML_DATA=FOLDER python experiments/activity/live.py browser

Phones are pages of a headless Chromium whose motion sensor is overridden: the readings go through
real `devicemotion` events, 20 a second, so the run takes as long as the samples took to record.
Both kinds run the code that participants run, against `crowdml serve` over HTTP on loopback.
"""

import argparse
import asyncio
import json
import math
import os
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crowdml import Device
from crowdml.demo import ServerProcess
from crowdml.device.sources.sensing import Sensing, features_of
from crowdml.privacy import bound_features
from crowdml.protocol import Task
from crowdml.server import Store
from crowdml.simulation import error_rate
from crowdml.types import Array, Ints

LABELS = ("Still", "Walking", "Jogging")
STILL = ("sit", "std")
RECORDED_HZ, HZ, WINDOW = 50, 20, 64
LENGTH = 80
"""The number of readings under one label: more than a window, since a live clock is not exact."""
G = 9.81
SCALE = 7000.0
"""No spectrum in m/s² of these people has a larger L1 norm. SGD on x/s at the rate c·s² takes the
same steps as on x at the rate c, which is the paper's."""
FIRST_TEST_PERSON = 19
RATES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)

TASK = """
name = "{name}"
title = "Figure 3, {name}"
objective = "Tell activities apart."
owner = "An experiment"
contact = "none"
purpose = "To measure what a crowd learns."
sensors = "Accelerometer."
[features]
count = {count}
[features.sensor]
kind = "motion"
transform = "{transform}"
first_bin = {first_bin}
scale = {scale}
every = 0
trigger = "{trigger}"
[target]
labels = ["Still", "Walking", "Jogging"]
[model]
kind = "softmax"
clip = {clip}
radius = 1e9
[privacy]
epsilon = {epsilon}
[collection]
batch = {batch}
buffer = 1000
[optimizer]
{optimizer}
[enrolment]
checkins_per_minute = 6000
"""

PAPER = {"count": 64, "transform": "amplitudes", "first_bin": 1, "scale": SCALE, "clip": 2.0}
DEMO = {"count": 33, "transform": "spectrum", "first_bin": 0.1, "scale": 1, "clip": 0.2}


def tasks() -> list[Task]:
    """Make a task for each c of the paper, and two private tasks with settings that suit noise."""
    made = [
        Task.from_toml(
            TASK.format(
                name=f"c-{rate:.0e}".replace("+", ""),
                epsilon="inf", batch=1, trigger="label-change",
                optimizer=f'kind = "sgd"\nc = {rate * SCALE**2}', **PAPER,
            )
        )
        for rate in RATES
    ]  # fmt: skip
    made += [
        Task.from_toml(
            TASK.format(
                name=f"epsilon-{epsilon:g}", epsilon=epsilon, batch=batch, trigger="label-change",
                optimizer='kind = "adagrad"\nc = 3.0\naveraging = 8', **DEMO,
            )
        )
        for epsilon, batch in ((10.0, 10), (1.0, 40))
    ]  # fmt: skip
    return made


@dataclass(frozen=True)
class Person:
    """Hold pieces of motion, 80 readings of (x, y, z) in m/s² at 20 Hz each, and their labels."""

    pieces: Array
    labels: Ints


def read_people(file: Path) -> dict[int, Person]:
    """Read all pieces of each person, in the order of recording."""
    with np.load(file, allow_pickle=False) as archive:
        xyz, user, trial = archive["xyz"] * G, archive["user"], archive["trial"]
        names = archive["activity_names"].tolist()
        activity = archive["activity"]
    labels = np.array([0 if name in STILL else 2 if name == "jog" else 1 for name in names])
    ends = np.flatnonzero(np.diff(user.astype(int) * 100 + trial)) + 1
    pieces: dict[int, list[Array]] = {}
    found: dict[int, list[int]] = {}
    every = np.round(np.arange(LENGTH) * RECORDED_HZ / HZ).astype(int)
    for rows in np.split(np.arange(len(user)), ends):
        person = int(user[rows[0]])
        for start in range(0, len(rows) - every[-1] - 1, LENGTH * RECORDED_HZ // HZ):
            pieces.setdefault(person, []).append(xyz[rows[start] + every])
            found.setdefault(person, []).append(int(labels[activity[rows[0]]]))
    return {p: Person(np.array(pieces[p]), np.array(found[p])) for p in pieces}


def day_of(person: Person, n: int, rng: np.random.Generator) -> Person:
    """Choose n pieces whose label changes every time, as it does between the samples of a day."""
    order, kept, last = rng.permutation(len(person.labels)), [], -1
    for index in order:
        if person.labels[index] != last:
            kept.append(index)
            last = person.labels[index]
    return Person(person.pieces[kept[:n]], person.labels[kept[:n]])


def readings(day: Person) -> Iterator[tuple[float, Array, int]]:
    """Yield (seconds, acceleration, label) of each reading, and one more to end the last."""
    tick = 0
    for piece, label in zip(day.pieces, day.labels, strict=True):
        for reading in piece:
            yield tick / HZ, reading, int(label)
            tick += 1
    yield tick / HZ, day.pieces[-1][-1], int(day.labels[-1])


# The two kinds of devices


def by_python(url: str, names: list[str], days: list[Person], folder: Path) -> None:
    """Run a thread for each person; all of a person's devices read the same readings."""

    def take_part(number: int, day: Person) -> None:
        devices = {
            name: Device.join(
                url, name, file=folder / f"{number}-{name}.device", accept_no_privacy=True
            )
            for name in names
        }
        sensing = {
            name: Sensing(_sensor(device), device.terms.features.count)
            for name, device in devices.items()
        }
        for time_, xyz, label in readings(day):
            for name, device in devices.items():
                for taken in sensing[name].push(time_, float(np.linalg.norm(xyz)), label):
                    device.add(taken.x, device.terms.target.labels[int(taken.y)])
        for device in devices.values():
            device.flush(30)
            device.close()

    threads = [
        threading.Thread(target=take_part, args=(number, day)) for number, day in enumerate(days)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


PHONE = """async ({names}) => {
  const { Device, Sensing } = await import("/web/index.js");
  const { start } = await import("/web/sensors/motion.js");
  window.label = null;
  window.taken = 0;
  const devices = await Promise.all(
    names.map((name) => Device.join(name, { acceptNoPrivacy: true })));
  const sensing = devices.map(
    (device) => new Sensing(device.terms.features.sensor, device.terms.features.count));
  window.devices = devices;
  let last = Promise.resolve();
  await start((time, reading) => {
    devices.forEach((device, k) => {
      for (const { x, y } of sensing[k].push(time, reading, window.label)) {
        window.taken += 1;
        last = last.then(() => device.add(x, device.terms.target.labels[y]));
      }
    });
  }, { rate: 20 });
  window.finish = async () => {
    await last;
    for (const device of devices) await device.flush(30);
  };
}"""


async def by_browser(url: str, names: list[str], days: list[Person]) -> None:
    """Run a page for each person, with an overridden motion sensor."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )

        async def take_part(number: int, day: Person) -> None:
            context = await browser.new_context(viewport={"width": 390, "height": 844})
            page = await context.new_page()
            page.on("pageerror", lambda error: print("page error:", error, file=sys.stderr))
            sensors = await context.new_cdp_session(page)
            for kind in ("accelerometer", "linear-acceleration", "gyroscope"):
                await sensors.send(
                    "Emulation.setSensorOverrideEnabled", {"enabled": True, "type": kind}
                )
                await sensors.send(
                    "Emulation.setSensorOverrideReadings",
                    {"type": kind, "reading": {"xyz": {"x": 0, "y": 0, "z": G}}},
                )
            await page.goto(f"{url}/privacy")
            await page.evaluate(PHONE, {"names": names})
            # People do not change what they do at the same moment.
            later = number / len(days) * LENGTH / HZ
            began, previous, labelled = time.monotonic() + later, None, None
            for due, xyz, label in readings(day):
                await asyncio.sleep(max(0.0, began + due - time.monotonic()))
                x, y, z = (float(value) for value in xyz)
                await sensors.send(
                    "Emulation.setSensorOverrideReadings",
                    {"type": "accelerometer", "reading": {"xyz": {"x": x, "y": y, "z": z}}},
                )
                # Change the motion first, so that no old motion gets the new label.
                if label == previous != labelled:
                    await page.evaluate("(label) => { window.label = label; }", label)
                    labelled = label
                previous = label
            await page.evaluate("() => window.finish()")
            await context.close()

        await asyncio.gather(*(take_part(number, day) for number, day in enumerate(days)))
        await browser.close()


# The live server, and its results


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    server = ServerProcess(folder)
    with closing(Store(server.database)) as store:
        for task in tasks():
            store.create_task(task)
    with server:
        yield server.url


def report(url: str, test: tuple[list[Array], Ints]) -> list[dict[str, Any]]:
    rows = []
    for task in tasks():
        statistics = _get_json(f"{url}/v1/tasks/{task.name}/stats")
        model = _get_json(f"{url}/v1/tasks/{task.name}/export?format=json")
        terms = task.terms
        x = np.array([_features(task, window) for window in test[0]])
        w = np.array(model["weights"]).ravel()
        rows.append(
            {
                "task": task.name,
                "checkins": statistics["version"],
                "samples": statistics["samples"],
                "after": _course(url, task.name),
                "time_averaged_error": statistics["error"] and statistics["error"]["value"],
                "margin": statistics["error"] and statistics["error"]["margin"],
                "test_error": error_rate(terms.make_model(), w, x, test[1].astype(float)),
            }
        )
    return rows


def _course(url: str, task: str) -> dict[int, float]:
    """Return the time-averaged error after 50, 100, 200 and 300 check-ins."""
    with urllib.request.urlopen(f"{url}/tasks/{task}/charts/error.csv") as answer:
        lines = answer.read().decode().splitlines()[1:]
    points = {int(row.split(",")[0]): float(row.split(",")[3]) for row in lines}
    return {n: round(points[n], 3) for n in (50, 100, 200, 300) if n in points}


def _features(task: Task, window: Array) -> Array:
    features = task.terms.features
    assert features.sensor is not None
    x = features_of(features.sensor, features.count, np.linalg.norm(window, axis=1))
    return bound_features(x, features.count)


def _sensor(device: Device) -> Any:
    return device.terms.features.sensor


def _get_json(url: str) -> Any:
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("devices", choices=["python", "browser"])
    parser.add_argument("--people", type=int, default=7)
    parser.add_argument("--samples", type=int, default=300, help="of all people together")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    people = read_people(Path(os.environ["CROWDML_DATA"]) / "activity_motionsense_raw.npz")
    rng = np.random.default_rng(options.seed)
    training = [person for person in people if person < FIRST_TEST_PERSON]
    chosen = rng.choice(training, options.people, replace=False)
    each = math.ceil(options.samples / options.people)
    days = [day_of(people[int(person)], each, rng) for person in chosen]
    held_out = [person for person in people if person >= FIRST_TEST_PERSON]
    windows = [piece[:WINDOW] for person in held_out for piece in people[person].pieces]
    truth = np.concatenate([people[person].labels for person in held_out])
    names = [task.name for task in tasks()]
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as url:
        began = time.monotonic()
        if options.devices == "python":
            by_python(url, names, days, Path(name))
        else:
            asyncio.run(by_browser(url, names, days))
        for row in report(url, (windows, truth)):
            print(json.dumps(row))
        print(json.dumps({"seconds": round(time.monotonic() - began, 1)}))


if __name__ == "__main__":
    main()
