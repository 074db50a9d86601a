"""Run a portal as its operator does, with tasks in every situation and a crowd."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from crowdml.privacy import CheckinKey, DirectionMechanism, NoiseMechanism, Role
from crowdml.protocol import Task, terms_hash
from tests.portal import owner_browser
from tests.support.servers import (
    HttpClient,
    Portal,
    checkin,
    create,
    direction_checkin,
    enrolled,
    make_task,
)

SIMULATE = """
import json, os, time
while not os.path.exists("simulated"):
    time.sleep(0.02)
own = {"mechanism": "direction", "batch": 20, "checkins": 1, "error": 0.25}
own |= {"low": 0.2, "high": 0.3, "error_with_liars": 0.28}
print(json.dumps({"own": own, "own_verdict": "something", "better": None, "guess_error": 0.5,
    "central_error": 0.1, "devices": 1000, "simulated_devices": 1000}))
"""


class BrowsedPortal(owner_browser.Portal):
    """A portal whose simulations last until `end_simulations`; other tests check their results."""

    simulating = (sys.executable, "-c", SIMULATE)

    def end_simulations(self) -> None:
        (self.folder / "simulated").touch()


class LastingPortal(owner_browser.Portal):
    """A portal that all tests of this folder share, so that they can share profiles too."""


class ServePortal(Protocol):
    def __call__(self, *tasks: Task, tls: str | None = None) -> BrowsedPortal: ...


@contextmanager
def portals(folder: Path) -> Iterator[ServePortal]:
    """Start portals, each in a folder of its own, and end them all."""
    started: list[BrowsedPortal] = []

    def serve(*tasks: Task, tls: str | None = None) -> BrowsedPortal:
        home = folder / f"portal-{len(started)}"
        home.mkdir()
        portal = BrowsedPortal(home, tls)
        started.append(portal)
        create(portal.database, *tasks)
        portal.start()
        return portal

    try:
        yield serve
    finally:
        for portal in started:
            portal.kill()


@dataclass
class Crowd:
    """Devices that check in through the API as real ones do, with made-up messages.

    The share of wrong predictions falls from check-in to check-in, as when a model learns; after
    `half` check-ins half of what can be learnt is learnt. Where a device may check in only once,
    each check-in is made by a new one.
    """

    wire: HttpClient
    task: Task
    n_devices: int = 3
    half: int = 8
    devices: list[dict[str, str]] = field(init=False)
    sent: int = 0

    def __post_init__(self) -> None:
        self.devices = [self._enrol() for _ in range(self.n_devices)]

    def _enrol(self) -> dict[str, str]:
        return enrolled(self.wire, self.task.name)

    def check_in(self, times: int = 1) -> None:
        for _ in range(times):
            if self.task.terms.collection.checkins and self.sent >= len(self.devices):
                self.devices.append(self._enrol())
            device = self.devices[self.sent % len(self.devices)]
            path = f"/v1/tasks/{self.task.name}/checkins"
            reply = self.wire.call("POST", path, self._body(device["device"]), device["token"])
            assert reply.status in (200, 201), reply.body
            self.sent += 1

    def _body(self, device: str) -> bytes:
        rng = np.random.default_rng(self.sent)
        terms, mechanism = self.task.terms, self.task.terms.mechanism()
        wrong = 0.1 + 0.55 / (1 + self.sent / self.half)
        shares = np.arange(terms.n_classes, 0, -1) / max(np.arange(terms.n_classes + 1).sum(), 1)
        sums: dict[str, Any] = {"version": max(0, self.sent - int(rng.integers(0, 3)))}
        if isinstance(mechanism, DirectionMechanism):
            role = mechanism.roles.role_of(CheckinKey(terms_hash(terms.text), device, 1))
            if role is Role.EVALUATE:
                sums["wrong"] = int(rng.random() < wrong)
            elif role is Role.COUNT:
                sums["answer"] = int(rng.choice(terms.n_classes, p=shares))
            return direction_checkin(self.task, device, seed=self.sent, **sums)
        assert isinstance(mechanism, NoiseMechanism)
        n = terms.collection.batch
        sums["errors"] = int(rng.binomial(mechanism.n_heldout(n) or n, wrong))
        if terms.n_classes:
            noise = rng.integers(-1, 2, terms.n_classes) * terms.private
            sums["labels"] = tuple((rng.multinomial(n, shares) + noise).tolist())
        return checkin(self.task, seed=self.sent, **sums)


def gallery() -> list[Task]:
    """Make tasks that differ in everything that changes a page; `populate` adds check-ins."""
    return [
        make_task(
            "walking",
            __title="What is the owner of this phone doing?",
            __objective="Tell standing, walking and running apart from a phone's movement.",
            __sensors="Accelerometer, 20 readings a second.",
            target__labels=["still", "walking", "running"],
            collection__batch=20,
            collection__heldout=0.25,
            stop__updates=400,
            stop__error=0.05,
        ),
        make_task("paused", __title="A task that pauses"),
        make_task("finished", __title="A task that is done", stop__updates=5),
        make_task("stopped", __title="A task that was stopped"),
        make_task(
            "open-data",
            __title="A task that is not private",
            privacy__epsilon=float("inf"),
            **{"features__sensor.kind": "motion"},
        ),
        make_task(
            "temperature",
            __title="How warm is it on the balcony?",
            __objective="Predict the temperature outside from a phone on the table.",
            features__count=8,
            target__labels=None,
            target__description="Degrees Celsius, divided by 10.",
            model__kind="huber",
            model__clip=1.0,
            privacy__epsilon=8.0,
            collection__heldout=0.34,
        ),
        make_task(
            "person",
            __title="Is this person well?",
            __objective="Tell a good night's sleep from a bad one, for whole people.",
            __sensors="Accelerometer, 20 readings a second, at night.",
            features__count=33,
            target__labels=["well", "ill", "in between"],
            privacy__mechanism="direction",
            privacy__epsilon=4.0,
            collection__batch=20,
            optimizer__c=None,
            stop__updates=400,
            stop__error=0.05,
        ),
        make_task(
            "indoors",
            __title="Is it light enough to read?",
            privacy__mechanism="gaussian",
            privacy__epsilon=2.0,
            collection__batch=50,
            collection__buffer=500,
        ),
        make_task("new", __title="A task without check-ins"),
        make_task("club", __title="A task for invited devices", enrolment__mode="invite"),
        make_task(
            "pocket",
            __title="How does its owner carry the phone?",
            __objective="Tell a pocket from a hand by the way a phone moves.",
            __owner="Example University",
            __contact="study@example.org",
            __purpose="A free app that knows how it is carried.",
            __sensors="Accelerometer, 20 readings a second, in windows of 3.2 seconds.",
            features__count=33,
            features__description="Spectrum of the acceleration's magnitude.",
            features__sensor__kind="motion",
            features__sensor__first_bin=0.1,
            target__labels=["pocket", "hand"],
            privacy__epsilon=3.0,
            collection__batch=20,
            collection__buffer=200,
            optimizer__c=1.0,
            stop__updates=None,
        ),
    ]


def populate(portal: Portal, tasks: list[Task]) -> None:
    """Let a crowd take part in the tasks, then pause `paused` and stop `stopped`."""
    checkins = {"walking": 60, "person": 300, "open-data": 4, "temperature": 12}
    with portal.connected() as wire:
        for task in tasks:
            if task.name not in ("new", "club"):
                crowd = Crowd(wire, task, n_devices=10 if task.name == "walking" else 3)
                crowd.check_in(checkins.get(task.name, 5))
    with portal.store() as store:
        store.set_task_state("paused", "paused")
        store.set_task_state("stopped", "stopped")
