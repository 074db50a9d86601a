"""Make the check-ins that an audit attacks, with the program of each kind of device."""

import contextlib
import functools
import json
import logging
import math
import os
import runpy
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import msgspec
import numpy as np

import crowdml
from crowdml.checks.pairs import Pair, Samples
from crowdml.device import Agreement, CheckedOut, Device, Identity, Parameters, RetryTimer
from crowdml.errors import CrowdmlError, Unreachable
from crowdml.privacy import Chance, Limits, Role, SystemChance
from crowdml.protocol import (
    CheckinAnswer,
    Checkout,
    Enrol,
    Enrolled,
    State,
    TaskView,
    checkin_type,
    encode_parameters,
    terms_hash,
)
from crowdml.types import Ints

Transcript: TypeAlias = tuple[bytes, ...]
"""All messages that left a device in one check-in: several if a retry was not the same."""

Transcripts: TypeAlias = tuple[list[Transcript], list[Transcript]]
CountStep: TypeAlias = Callable[[int], None]
"""Called with the number of check-ins that were made since the last call."""


LOST = 10
"""The number of answers that are lost.

Noise that is drawn again for each retry would soon be averaged away.
"""


MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
"""A folder in memory: thousands of device files are written."""


class AuditedProgram(Protocol):
    """Make many check-ins from both sides of a pair, half of them from each side."""

    def transcripts(self, pair: Pair, trials: int, step: CountStep) -> Transcripts: ...


@dataclass(frozen=True)
class PythonProgram:
    """Make check-ins by a device's agreement, from samples as taken to the message's body."""

    chance: Chance = field(default_factory=SystemChance)

    def transcripts(self, pair: Pair, trials: int, step: CountStep) -> Transcripts:
        limits = Limits(math.inf, math.inf)
        identity = Identity("", pair.terms.task, pair.device, "", pair.terms.text, limits)
        agreement, parameters = Agreement(identity), Parameters(np.array(pair.w))
        ledger = pair.before
        approval = agreement.approve(ledger, len(pair.sides[0]))
        chance = FirstAside(self.chance) if pair.terms.collection.heldout else self.chance
        rows = [pair.rows(side) for side in pair.sides]
        transcripts: Transcripts = [], []
        for _ in range(trials // 2):
            for (x, y), bodies in zip(rows, transcripts, strict=True):
                checkin = agreement.write(approval, 0, parameters, x, y, ledger, chance)
                assert checkin, "a full minibatch must be written."
                bodies.append((checkin.body,))
            step(2)
        return transcripts


@dataclass(frozen=True)
class JavaScriptProgram:
    """Make check-ins in Node by the JavaScript modules that a phone's browser loads."""

    web: Path = Path(crowdml.__file__).parent / "web"

    def transcripts(self, pair: Pair, trials: int, step: CountStep) -> Transcripts:
        asked = {
            "agreed": {"device": pair.device, "terms": pair.terms.text},
            "heldout": bool(pair.terms.collection.heldout),
            "number": pair.number,
            "w": pair.w,
            "sides": pair.sides,
            "trials": trials // 2,
        }
        transcripts: Transcripts = [], []
        with self._node() as node:
            assert node.stdin
            assert node.stdout
            node.stdin.write(json.dumps(asked).encode())
            node.stdin.close()
            for i, line in enumerate(node.stdout):
                transcripts[i % 2].append((line.strip(),))
                step(1)
        if node.returncode or len(transcripts[1]) != trials // 2:
            raise CrowdmlError(f"node stopped after {len(transcripts[1])} check-ins of each side.")
        return transcripts

    def _node(self) -> subprocess.Popen[bytes]:
        script = Path(__file__).with_name("audited.js")
        # Node 18 needs a flag for the browser's cryptography. The folder may consist of links.
        options = {"NODE_OPTIONS": "--experimental-global-webcrypto --preserve-symlinks"}
        try:
            return subprocess.Popen(
                ["node", script, self.web],  # noqa: S607
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | options,
            )
        except FileNotFoundError as error:
            raise CrowdmlError("JavaScript needs node. Install it.") from error


@dataclass(frozen=True)
class OneFileProgram:
    """Make check-ins by the one-file device, as a participant runs it."""

    file: Path = Path(crowdml.__file__).parent / "one_file_device.py"

    def transcripts(self, pair: Pair, trials: int, step: CountStep) -> Transcripts:
        device = runpy.run_path(str(self.file))
        try:
            terms = device["Terms"](pair.terms.text, pair.terms.task)
        except device["DeviceError"] as error:
            raise CrowdmlError(f"the one-file device rejects the terms: {error}") from error
        key = f"{terms.sha256}\n{pair.device}\n{pair.number}"
        role = device["role_of"](terms, key)
        sides = [[(device["features"](terms, [x]), y) for x, y in side] for side in pair.sides]
        about = {"id": "0" * 22, "version": 0, "terms": terms.sha256, "number": pair.number}
        _compute_once(device, "codebook")
        transcripts: Transcripts = [], []
        for _ in range(trials // 2):
            for samples, bodies in zip(sides, transcripts, strict=True):
                made = device["make_payload"](terms, key, list(pair.w), samples, role)
                bodies.append((json.dumps({**about, **made}).encode(),))
            step(2)
        return transcripts


def _compute_once(device: dict[str, Any], name: str) -> None:
    """Cache the results of a program's function by its arguments.

    The codebook of a check-in depends on public names alone, and takes the one-file device five
    times as long as everything that is random.
    """
    function = device[name]
    function.__globals__[name] = functools.cache(lambda *public: tuple(function(*public)))


@dataclass(frozen=True)
class WholeDevice:
    """Make check-ins by a device with its file, from joining to the answer after lost answers."""

    chance: Chance = field(default_factory=SystemChance)

    def transcripts(self, pair: Pair, trials: int, step: CountStep) -> Transcripts:
        transcripts: Transcripts = [], []
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder, _quiet("crowdml.device"):
            # Devices in one folder would share a participant's account, so each has its own folder.
            for i in range(trials // 2):
                for side, bodies in zip(pair.sides, transcripts, strict=True):
                    own = Path(folder) / f"{i}-{side is pair.sides[0]}"
                    bodies.append(self._checkin(pair, side, own / "device"))
                step(2)
        return transcripts

    def _checkin(self, pair: Pair, side: Samples, file: Path) -> Transcript:
        server = LossyServer(pair)
        device = Device.join(
            "https://crowd.example", pair.terms.task, file=file, transport=server,
            chance=self.chance, retry_timer=RetryTimer(base=0.0, slot=0.0),
        )  # fmt: skip
        labels = pair.terms.target.labels
        for x, y in side:
            device.add([x], labels[int(y)] if labels else y)
        for _ in range(LOST + 1):
            device.sync()
        device.close()
        return tuple(dict.fromkeys(server.bodies))


class LossyServer:
    """Accept check-ins as a server, but lose the first `LOST` answers."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self.bodies: list[bytes] = []

    def task(self) -> TaskView:
        terms = self._pair.terms
        return TaskView(
            name=terms.task, title="", objective="", state=State.RUNNING, private=True,
            enrolment="open", algorithm="", version=0, devices=0, terms=terms.text,
            terms_sha256=terms_hash(terms.text),
        )  # fmt: skip

    def enrol(self, message: Enrol) -> Enrolled:
        return Enrolled(self._pair.device, "token")

    def checkout(self, token: str, role: Role | None = None) -> CheckedOut:
        parameters = encode_parameters(np.array(self._pair.w))
        checkout = Checkout(0, State.RUNNING, parameters)
        return CheckedOut(checkout, terms_hash(self._pair.terms.text))

    def checkin(self, token: str, body: bytes) -> CheckinAnswer:
        self.bodies.append(body)
        if len(self.bodies) <= LOST:
            raise Unreachable("the answer was lost.")
        # Decoding checks that a server could read the body.
        msgspec.json.decode(body, type=checkin_type(self._pair.mechanism.payload_type))
        return CheckinAnswer(1, "applied")

    def leave(self, token: str) -> None:
        pass

    def export(self) -> bytes:
        raise Unreachable("there is no model.")

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class FirstAside:
    """Draw always the first sample to set aside, and real noise."""

    noise: Chance

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return self.noise.add_laplace(values, scale)

    def add_gaussian(self, values: Ints, scale: float) -> Ints:
        return self.noise.add_gaussian(values, scale)

    def below(self, n: int) -> int:
        return 0

    def random_id(self) -> str:
        return self.noise.random_id()


@contextlib.contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Silence the log: answers are lost on purpose here."""
    log = logging.getLogger(name)
    level, log.level = log.level, logging.CRITICAL
    try:
        yield
    finally:
        log.setLevel(level)
