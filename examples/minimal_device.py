"""A whole crowdml device in one file: a second implementation, from the documents alone.

It was written from docs/protocol.md, docs/privacy.md and the server's /v1/openapi.json, without a
look at the crowdml package, to show that they suffice. It needs the standard library only. Every
number that privacy rests on is an integer or a fraction.

    python examples/minimal_device.py URL TASK SAMPLES.jsonl STATE_FILE [--device-limit E] [--leave]

A sample is a line `{"x": [0.1, 0.2], "y": 1}`; append more whenever you like, each is used once.
The terms are shown at the first start, and going on is agreeing. The state file has the token, the
buffer, the ledger and what is not yet delivered, so keep it, and start again at any time.
A self-signed server is trusted with SSL_CERT_FILE=its-certificate.pem.
"""

import argparse
import hashlib
import http.client
import json
import math
import os
import secrets
import sqlite3
import struct
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from operator import mul
from typing import Any
from urllib.parse import quote, urlsplit

Epsilon = Fraction | float  # a float only as infinity, which means no noise
Sample = tuple[list[float], float]

LATER = {"task-paused", "too-frequent", "unavailable"}
OUTDATED = {"stale-version", "future-version"}
REFUSED = {"invalid-request", "too-large", "wrong-size", "wrong-grid", "wrong-heldout"}
REFUSED |= {"too-few-samples", "too-many-samples", "implausible"}
ATTEMPTS = 8  # before giving up for this run
CHECKINS = 20  # the default limit, in check-ins
RANDOM = secrets.SystemRandom()


class Problem(Exception):
    """The server says no, or this device does."""

    def __init__(self, kind: str, detail: str, retry_after: float = 0.0) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind, self.retry_after = kind, retry_after


def exact(value: str | float) -> Epsilon:
    """A number as the rational that it is, or infinity."""
    return math.inf if value == "inf" else Fraction(value)


class Terms:
    """What the participant agreed to, and what follows from it, in the protocol's letters."""

    def __init__(self, text: str) -> None:
        terms = json.loads(text)
        model, collection = terms["model"], terms["collection"]
        self.text, self.hash = text, hashlib.sha256(text.encode()).hexdigest()
        self.kind: str = model["kind"]
        self.delta: float = model["delta"]
        self.tolerance: float = model["tolerance"]
        self.batch: int = min(collection["batch"], collection["buffer"])
        self.heldout: float = collection["heldout"]
        self.D: int = terms["features"]["count"]
        self.C = len(terms["target"]["labels"])
        self.K = max(self.C, 1)
        self.intercepts = self.K if model["intercept"] else 0
        self.d = self.K * self.D + self.intercepts
        bounds = {"softmax": 2.0, "hinge": 2.0, "huber": self.delta, "ridge": math.inf}
        self.S: float = min(model["clip"], bounds[self.kind] * (2 if self.intercepts else 1))
        self.decay: float = model["regularization"]
        self.radius: float = model["radius"]
        self.g, self.e, self.y = (exact(terms["privacy"][f"epsilon_{part}"]) for part in "gey")
        if min(self.g, self.e, self.y if self.C else 1) <= 0:
            raise Problem("unusable-terms", "noise needs a positive ε")

    def aside(self, samples: int) -> int:
        """How many of the samples are held out: they count errors, and are not learned from."""
        return math.floor(self.heldout * samples)

    def cost(self, samples: int) -> Epsilon:
        """What a check-in of this many samples costs each of them."""
        return (max(self.g, self.e) if self.aside(samples) else self.g + self.e) + self.y


def read_sample(terms: Terms, line: str) -> Sample:
    """Refuse what is not a sample; bound ‖x‖₁ by 1."""
    record = json.loads(line)
    x, y = [float(value) for value in record["x"]], record["y"]
    if len(x) != terms.D or not all(map(math.isfinite, x)):
        raise ValueError(f"x is not {terms.D} finite numbers")
    if not (y in range(terms.C) if terms.C else math.isfinite(y)):
        raise ValueError("y is not a label, or not finite")
    norm = sum(map(abs, x))
    return [value / norm for value in x] if norm > 1 else x, y


# What a minibatch says


def scores(terms: Terms, w: list[float], x: list[float]) -> list[float]:
    rows = [w[k * terms.D : (k + 1) * terms.D] for k in range(terms.K)]
    shift = w[terms.K * terms.D :] or [0.0] * terms.K
    return [sum(map(mul, row, x)) + b for row, b in zip(rows, shift, strict=True)]


def slopes(terms: Terms, s: list[float], y: float) -> list[float]:
    """The derivative of the loss by each score."""
    if terms.kind == "softmax":
        powers = [math.exp(score - max(s)) for score in s]
        return [power / sum(powers) - (k == y) for k, power in enumerate(powers)]
    if terms.kind == "hinge":
        rival = max((k for k in range(terms.C) if k != y), key=s.__getitem__)
        active = s[int(y)] - s[rival] < 1
        return [float(active * ((k == rival) - (k == y))) for k in range(terms.C)]
    cut = terms.delta if terms.kind == "huber" else math.inf
    return [max(-cut, min(s[0] - y, cut))]


def gradient(terms: Terms, w: list[float], sample: Sample) -> list[float]:
    """One sample's gradient, shrunk to an L1 norm below S, whatever the rounding."""
    x, y = sample
    m = slopes(terms, scores(terms, w, x), y)
    g = [slope * value for slope in m for value in x] + m[: terms.intercepts]
    norm = sum(map(abs, g))
    factor = min(1.0, terms.S * (1 - 2**-30) / norm) if norm else 1.0
    return [value * factor for value in g]


# Noise: exact, from the system's generator


def flip(numerator: int, denominator: int) -> bool:
    """True with probability numerator / denominator."""
    return secrets.randbelow(denominator) < numerator


def flip_exp(numerator: int, denominator: int) -> bool:
    """True with probability exp(−numerator / denominator), for a ratio within 0 … 1."""
    k = 1
    while flip(numerator, denominator * k):
        k += 1
    return k % 2 == 1


def discrete_laplace(epsilon: Epsilon, sensitivity: int) -> int:
    """Draw z with P(z) ∝ exp(−ε·|z|/sensitivity): Canonne, Kamath, Steinke 2020, Algorithm 2."""
    if not isinstance(epsilon, Fraction):
        return 0
    s, t = (epsilon / sensitivity).as_integer_ratio()
    while True:
        u, v = secrets.randbelow(t), 0
        if not flip_exp(u, t):
            continue
        while flip_exp(1, 1):
            v += 1
        magnitude, negative = (u + t * v) // s, flip(1, 2)
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def floor_log2(value: float) -> int:
    return math.frexp(value)[1] - 1


def find_grid(terms: Terms, n: int) -> int:
    """The finest grid on which a gradient fits 32 bits, or a coarser one, lost in the noise.

    The server expects this very number, so it is worked out in floats as the server does. Privacy
    does not rest on it: Δ follows from it exactly.
    """
    fits = floor_log2((terms.S + terms.decay * terms.radius) / 2**29) + 1
    if terms.g == math.inf:
        return fits
    return max(fits, floor_log2(2 * terms.S / (n * float(terms.g) * 2**20)))


def clamp(value: int) -> int:
    return max(1 - 2**31, min(value, 2**31 - 1))


def message(terms: Terms, version: int, w: list[float], samples: list[Sample]) -> dict[str, Any]:
    """All that is ever told about these samples. Never call it twice for one."""
    samples = RANDOM.sample(samples, len(samples))
    h = terms.aside(len(samples))
    used, judged = samples[h:], samples[:h] or samples
    n, grid = len(used), find_grid(terms, len(used))
    q = Fraction(2) ** grid
    sensitivity = math.ceil(2 * Fraction(terms.S) / (n * q)) + terms.d
    u = []
    gradients = [gradient(terms, w, sample) for sample in used]
    for w_j, *column in zip(w, *gradients, strict=True):
        mean = sum(map(Fraction, column), Fraction(0)) / n
        noisy = round(mean / q) + discrete_laplace(terms.g, sensitivity)
        u.append(clamp(noisy + round(Fraction(terms.decay) * Fraction(w_j) / q)))
    predictions = [(scores(terms, w, x), y) for x, y in judged]
    if terms.C:
        errors = sum(s.index(max(s)) != y for s, y in predictions)
    else:
        errors = sum(abs(s[0] - y) > terms.tolerance for s, y in predictions)
    counts = [sum(y == label for _, y in samples) for label in range(terms.C)]
    return {
        "id": secrets.token_urlsafe(24),
        "version": version,
        "terms": terms.hash,
        "samples": len(samples),
        "heldout": h,
        "errors": clamp(errors + discrete_laplace(terms.e, 1)),
        "labels": [clamp(count + discrete_laplace(terms.y, 2)) for count in counts],
        "grid": grid,
        "gradient": b64encode(struct.pack(f"<{terms.d}i", *u)).decode(),
    }


# Memory and voice


class State(dict[str, Any]):
    """The device's memory: one document, replaced durably as a whole, by one process at a time."""

    def __init__(self, path: str) -> None:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self.path, self.database = path, sqlite3.connect(path)
        self.database.executescript(
            "PRAGMA synchronous = EXTRA; PRAGMA secure_delete = ON;"
            "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;"
            "CREATE TABLE IF NOT EXISTS state (document TEXT); COMMIT;"
        )
        super().__init__(lines=0, buffer=[], ledger=[], outbox=None)
        for (document,) in self.database.execute("SELECT document FROM state"):
            self.update(json.loads(document))

    def save(self, **changes: Any) -> None:
        self.update(changes)
        with self.database:
            self.database.execute("DELETE FROM state")
            self.database.execute("INSERT INTO state VALUES (?)", (json.dumps(self),))

    def spent(self) -> Epsilon:
        return sum(map(exact, self["ledger"]), Fraction(0))

    def erase(self) -> None:
        self.database.close()
        os.unlink(self.path)


class Server:
    """One task on one server, over HTTPS, or plain HTTP on this machine. No redirects."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token, self.etag = urlsplit(url), token, ""
        self.model: tuple[int, list[float]] = (0, [])
        local = self.url.hostname in ("localhost", "127.0.0.1", "::1")
        if self.url.scheme != "https" and not (local and self.url.scheme == "http"):
            raise Problem("wrong-address", "a token travels by https only")

    def try_once(self, method: str, path: str, body: str | None) -> tuple[Any, Any]:
        kind = "HTTPSConnection" if self.url.scheme == "https" else "HTTPConnection"
        connection = getattr(http.client, kind)(self.url.hostname, self.url.port, timeout=30)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= {"If-None-Match": self.etag} if self.etag and path == "/model" else {}
        headers |= {"Content-Type": "application/json"} if body else {}
        try:
            connection.request(method, self.url.path + path, body, headers)
            answer = connection.getresponse()
            content = json.loads(answer.read() or "null")
            if answer.status < 300 or answer.status == 304:
                return answer.headers, content
            no = content["type"].removeprefix("urn:crowdml:problem:"), content["detail"]
        except (OSError, http.client.HTTPException, LookupError, TypeError, ValueError) as error:
            raise Problem("unavailable", f"no answer that makes sense, {error!r}") from error
        finally:
            connection.close()
        raise Problem(*no, content.get("retry_after", 0.0))

    def call(self, method: str, path: str = "", body: str | None = None) -> tuple[Any, Any]:
        """The answer's headers and content. What may work later is tried again, the same bytes."""
        for attempt in range(ATTEMPTS):
            try:
                return self.try_once(method, path, body)
            except Problem as problem:
                if problem.kind not in LATER or attempt == ATTEMPTS - 1:
                    raise
                time.sleep(problem.retry_after + RANDOM.uniform(0.1, 1) * 2**attempt)
        raise AssertionError("not reached")

    def check_out(self, terms: Terms) -> tuple[int, list[float]]:
        headers, content = self.call("GET", "/model")
        if headers["Crowdml-Terms"] != terms.hash:
            raise Problem("terms-changed", "read the new ones; to agree, leave and join again")
        if content and content["state"] != "running":
            paused = content["state"] == "paused"
            raise Problem("task-paused" if paused else "task-finished", content["state"])
        if content:
            packed = b64decode(content["parameters"], validate=True)
            w = [value for (value,) in struct.iter_unpack("<f", packed)]
            if len(w) != terms.d or not all(map(math.isfinite, w)):
                raise Problem("unusable-model", "these are no parameters for the terms")
            self.etag, self.model = headers["ETag"], (content["version"], w)
        return self.model


# A device's life


def join(server: Server, state: State, invite: str | None, limit: Epsilon | None) -> None:
    _, task = server.call("GET")
    terms = Terms(task["terms"])
    if terms.hash != task["terms_sha256"]:
        raise Problem("unusable-terms", "their hash is not the one that the server names")
    print(f"You agree to these terms, {terms.hash}:\n{terms.text}", flush=True)
    if terms.cost(terms.batch) == math.inf and limit != math.inf:
        raise Problem("NOT PRIVATE", "THIS TASK ADDS NO NOISE. To accept: --device-limit inf")
    request = {"terms": terms.hash} | ({"invite": invite} if invite else {})
    _, enrolled = server.call("POST", "/devices", json.dumps(request))
    server.token = enrolled["token"]
    identity = {"device": enrolled["device"], "token": server.token}
    state.save(url=server.url.geturl(), terms=terms.text, **identity)


def collect(state: State, terms: Terms, lines: Iterator[str]) -> None:
    """Fill the buffer to a minibatch; over all restarts, a line is read once."""
    while len(state["buffer"]) < terms.batch and (line := next(lines, "")):
        number, samples = state["lines"] + 1, []
        try:
            samples = [read_sample(terms, line)]
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            print(f"line {number} refused: {error}", file=sys.stderr)
        state.save(lines=number, buffer=state["buffer"] + samples)


def deliver(server: Server, state: State) -> None:
    """Send what is in the outbox. What is dropped stays in the ledger."""
    if not state["outbox"]:
        return
    try:
        _, answer = server.call("POST", "/checkins", state["outbox"])
        outcome = f"{answer['status']}, version {answer['version']}"
    except Problem as problem:
        if problem.kind in REFUSED:
            state.save(outbox=None)
        if problem.kind not in OUTDATED:
            raise
        outcome = f"dropped, {problem}"
    state.save(outbox=None)
    print(f"check-in {len(state['ledger'])}: {outcome}; ε spent: {float(state.spent()):.6g}")


def take_part(server: Server, state: State, samples: str, limit: Epsilon | None) -> str:
    """Go on until something ends it, and say what did."""
    terms = Terms(state["terms"])
    limit = CHECKINS * terms.cost(terms.batch) if limit is None else limit
    with open(samples, encoding="utf-8") as file:
        lines = islice(file, state["lines"], None)
        while True:
            deliver(server, state)
            collect(state, terms, lines)
            count = len(state["buffer"])
            if count < terms.batch:
                return f"no more lines; {count} of {terms.batch} samples wait in the buffer"
            cost = terms.cost(count)
            if state.spent() + cost > limit:
                return f"the limit of ε = {float(limit):.6g} is reached; {count} samples stay here"
            version, w = server.check_out(terms)
            told = json.dumps(message(terms, version, w, state["buffer"]))
            state.save(buffer=[], ledger=[*state["ledger"], str(cost)], outbox=told)


def leave(server: Server, state: State) -> str:
    try:
        if server.token:
            server.call("DELETE", "/devices/me")
    except Problem as problem:
        if problem.kind not in ("unauthorized", "revoked"):
            raise
    state.erase()
    return "left; everything here is erased"


def main() -> int:
    parser = argparse.ArgumentParser(description="Take part in a crowdml task.")
    parser.add_argument("url")
    parser.add_argument("task")
    parser.add_argument("samples", help='JSON lines: {"x": […], "y": …}')
    parser.add_argument("state", help="the device's own file, made at the first start")
    parser.add_argument("--device-limit", type=exact, help=f"ε; default: {CHECKINS} check-ins")
    parser.add_argument("--invite", help="a code, where the task asks for one")
    parser.add_argument("--leave", action="store_true", help="end the token, erase the state")
    args = parser.parse_args()
    url = f"{args.url.rstrip('/')}/v1/tasks/{quote(args.task, safe='')}"
    try:
        state = State(args.state)
        if state.get("url", url) != url:
            raise Problem("wrong-address", f"this state belongs to {state['url']}")
        server = Server(url, state.get("token", ""))
        if args.leave:
            print(leave(server, state))
            return 0
        if not server.token:
            join(server, state, args.invite, args.device_limit)
        print(take_part(server, state, args.samples, args.device_limit))
    except (Problem, OSError, sqlite3.Error) as error:
        print(error, file=sys.stderr)
        return 0 if isinstance(error, Problem) and error.kind == "task-finished" else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
