#!/usr/bin/env python3
"""Run a whole crowdml device from one file, with Python 3.9 or newer and nothing to install.

    python3 device.py join https://HOST/join/TASK    read the terms, agree to them, join
    python3 device.py run --source samples.csv       one sample a line: its columns, then its label
    python3 device.py label Walking                  label what is read from now on; or --none
    python3 device.py ledger                         show everything that was sent, and its cost
    python3 device.py result                         show what became of it, and what was learnt
    python3 device.py leave                          leave the task, and erase the samples

On an Android phone with Termux, the phone itself is the device, all day:

    termux-sensor -s accel -d 50 | python3 device.py run --source - --format termux --label Walking

If the task names its columns, the first line of a CSV names them, too. The label's column is "y" or
"label", or else the last. Lines of JSON have the names as keys.

It follows docs/protocol.md, for tasks of the mechanism "direction": a check-in sends one small
number. Privacy rests on `choose`, and on `Device.release` and `Record`, which send nothing twice.

Beside the device's file is crowdml.record: what was sent under which number. Move both together.
"""

from __future__ import annotations

if __name__ == "__main__":  # before the imports, which take a moment: Ctrl-C prints nothing
    import _signal  # type: ignore[import-not-found]
    from os import _exit

    for _number in (_signal.SIGINT, _signal.SIGTERM):
        if _signal.getsignal(_number) != _signal.SIG_IGN:
            _signal.signal(_number, lambda number, frame: _exit(128 + number))

import argparse
import cmath
import csv
import difflib
import hashlib
import http.client
import json
import math
import os
import queue
import re
import secrets
import signal
import sqlite3
import ssl
import struct
import sys
import threading
import time
from base64 import b64decode
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from decimal import ROUND_HALF_UP, Context
from fractions import Fraction
from itertools import chain, islice
from operator import mul
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

__all__ = ["main"]

Sample = tuple[list[float], float]

STATES = {"running": "", "paused": "the task is paused."}
ENDINGS = {
    "reached": "the task has ended: its target error is reached.",
    "exhausted": "the task has ended: all its check-ins are in.",
    "stopped": "the task has ended: its owner stopped it.",
}
FINAL_REJECTIONS = {"revoked", "unauthorized"}  # this device can never check in again
RETRIABLE_REJECTIONS = {  # the same bytes may be accepted later
    "fault", "method-not-allowed", "not-found", "task-paused", "too-frequent", "unavailable",
    "unknown",
}  # fmt: skip
NEEDS_PERSON = {"", "copied", "task-finished", "terms-changed"}  # a person has to do something
ENDED = {"copied", "task-finished", *FINAL_REJECTIONS}
EXIT_CODES = {**dict.fromkeys(ENDED, 3), **dict.fromkeys(RETRIABLE_REJECTIONS, 5)}
# How `run` ends, as in the package.
EXIT_CODES |= {"wrong-number": 5, "task-paused": 6, "terms-changed": 7, "rows": 8}
MOST_SHOWN, MOST_BAD = 5, 1000  # bad lines that are shown; bad lines in a row
LONGEST_LINE = 2**24
PROGRESS_SECONDS = 5.0
NOT_A_SAMPLE = (ArithmeticError, TypeError, ValueError, RecursionError, csv.Error)  # in a line
OTHER_MECHANISMS = (
    "device.py supports only the mechanism direction. Install crowdml, as the join page shows"
)
PLAIN_HTTP = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"}
SENDING_SENTENCES = ("stays", "often", "rule", "train", "evaluate", "count", "hides")
LOSS_SENTENCES = ("epsilon", "loss", "less")
PRIVATE_UP_TO = 20  # a larger ε protects nobody
PRIVACY_LEVELS = {
    0.1: "very strong",
    1: "strong",
    4: "moderate",
    10: "weak",
    PRIVATE_UP_TO: "very weak",
}
SLOT = 0.05  # seconds: a check-in is sent `Terms.slots` of these after its check-out
STEPS_OF_SLOT, STEPS_OF_SAMPLE = 100_000, 20  # products in a slot; to read and delete a sample
LARGEST_WHOLE, SMALLEST_GRADIENT = 2**16, 2.0**-500  # smaller gradients are rounded to 0
SMALLEST_VALUE = 2.0**-60  # what is smaller in a sample counts as 0
SMALLEST_EXPONENT = -60.0
LONGEST_PAUSE, LONGEST_WAIT = 300.0, 3600.0  # seconds: the device chooses, the server asks for
NO_FINGERPRINT = "a fingerprint has 64 hexadecimal digits, and needs https."
ALL_MADE = "all check-ins that you agreed to are made. Thank you."
COPIED = (
    "another copy of this device has sent check-ins that this copy did not know. They are in the "
    "ledger now, and this copy sends nothing more. To go on, leave and join again: what you send "
    "then adds to what you have lost."
)
ENOUGH_SAMPLES = 20  # samples that the sentence for the participant is about, or a few more
MOST_BARS, BARS = 30, "▁▂▃▄▅▆▇█"
UNCERTAIN = 0.5  # an estimated share with such a margin, or a larger one, counts as unknown
PARTIAL_CHAIN = 0x80000  # of ssl.VerifyFlags: no name in Python 3.9; trust a leaf by itself
WRONG_DATES = (9, 10)  # OpenSSL's codes of certificates that are not yet valid, or have expired
APPLICATION_ID = 0x63726F77  # marks the files of this program
# As floats: products of small integers take less time than those of large ones.
CENTRED_BITS = [bin(byte).count("1") - 4.0 for byte in range(256)]


class DeviceError(Exception):
    """Report why something is not done, in one sentence; `kind` is the protocol's word for it."""

    def __init__(self, sentence: str, kind: str = "", retry_after: float = 0.0) -> None:
        super().__init__(sentence)
        self.kind, self.retry_after = kind, retry_after


class Untrusted(DeviceError):
    """Report that the server does not show the expected certificate."""


def read_json(text: str | bytes) -> Any:
    """Parse JSON from elsewhere, without numbers whose digits would take hours to read."""
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 400 else math.inf)


def visible(text: object) -> str:
    """Escape control characters of a text: they could hide what a person agrees to."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text).replace("\xa0", " "))


# The terms: every field has a range, and unknown fields cannot be agreed to

FLAG, POSITIVE, TEXT = (bool, False, True), (float, 1e-9, 1e9), (str, 0, 2000)
OWNER_FIELDS = ("owner", "contact", "purpose")
MANY, COUNT = 100_000, (int, 1, 10**9)
SENSOR = {
    "kind": (str, 1, 40), "rate": (float, 0.01, 1000), "window": (int, 1, 4096),
    "transform": {"amplitudes", "spectrum", "summary", "values"},
    "first_bin": (float, 0, 1), "scale": POSITIVE, "every": (float, 0, 1e6),
    "trigger": {"always", "label-change"}, "fields": (list, 0, 200),
}  # fmt: skip
START = {
    "sha256": (str, 64, 64), "rows": [COUNT], "people": [COUNT], "words": TEXT,
}  # fmt: skip
TERMS = {
    "task": (str, 1, 63), **dict.fromkeys(OWNER_FIELDS, (str, 1, 200)), "purpose": (str, 1, 2000),
    "sensors": TEXT,
    "features": {
        "count": (int, 1, MANY), "description": TEXT, "sensor": [SENSOR], "names": (list, 0, MANY),
        "center": (list, 0, MANY, (float, -1e15, 1e15)), "scale": (list, 0, MANY, POSITIVE),
        "length": POSITIVE, "missing": {"reject", "center"},
    },
    "target": {"labels": (list, 0, 1000), "description": TEXT, "scale": POSITIVE,
               "unit": (str, 0, 40)},
    "model": {
        "kind": {"softmax", "hinge", "ridge", "huber"}, "clip": None, "radius": POSITIVE,
        "regularization": (float, 0, 1e6), "intercept": FLAG, "delta": POSITIVE,
        "tolerance": POSITIVE, "start": [START],
    },
    "privacy": {
        "mechanism": {"direction"}, "epsilon": (float, 1e-6, 1e6), "directions": (int, 2, 4096),
        "closest": (int, 1, 4095),
    },
    "collection": {
        "batch": (int, 1, 100_000), "buffer": (int, 1, 1_000_000), "heldout": (float, 0, 0),
        "checkins": (int, 1, 1_000_000), "evaluators": (float, 0, 0.9), "counters": (float, 0, 0.9),
    },
}  # fmt: skip
"""A type with least and most (of a text or list: of its length), words, null; [rule]: or null."""
COLUMNS = ("names", "center", "scale", "length", "missing")
TARGET_HEADERS = ("y", "label", "target", "answer")  # usual names of the column with the label
LOOKED_AT, FEWEST_ALIKE, ALIKE = 100, 10, 0.95  # rows of a file; rows that may be all the same
REMEDY = "Check the units and the order of the columns. To use these rows anyway, add --yes."
APP_REMEDY = "Check the sensor and the units in the app. To use these rows anyway, add --yes."
MOST_SCALES = 6.0  # a value counts as at most this many scales from its center


def check(value: Any, rule: Any, path: str) -> None:
    """Reject a value that breaks its rule, and a table that does not have exactly its fields."""
    if type(rule) is list:
        rule = rule[0] if value is not None else None
    if rule is None:
        holds, must = value is None, "null"
    elif type(rule) is dict:
        must = f"a table of {list(rule)}"
        holds = type(value) is dict and value.keys() == rule.keys()
        for name in rule if holds else ():
            check(value[name], rule[name], f"{path}.{name}")
    elif type(rule) is set:
        holds, must = type(value) is str and value in rule, f"one of {sorted(rule)}"
    else:  # by `type`, since `true` would pass for an int; nan is within no range
        (kind, least, most, *each), must = rule, f"{rule[0].__name__}, {rule[1]} … {rule[2]}"
        holds = type(value) is kind or (kind is float and type(value) is int)
        size = len(value) if holds and kind in (str, list) else value
        holds = holds and least <= size <= most
        for entry in value if holds and kind is list else ():
            check(entry, each[0] if each else (str, 1, 80), f"an entry of {path}")
    if not holds:
        raise DeviceError(f"{path} must be {must}, found {str(value)[:60]!r}. Do not join.")


class Terms(SimpleNamespace):
    """Hold what was agreed to, and what follows from it; nothing else decides what is sent."""

    def __init__(self, text: str, task: str) -> None:
        try:
            sha256, terms = hashlib.sha256(text.encode()).hexdigest(), read_json(text)
            privacy = terms.get("privacy") if type(terms) is dict else None
            if type(privacy) is dict and privacy.get("mechanism") in ("gaussian", "laplace"):
                raise DeviceError(
                    f"the task uses {privacy['mechanism']} noise: {OTHER_MECHANISMS}."
                )
            check(terms, TERMS, "terms")
        except (ValueError, RecursionError) as error:
            raise DeviceError(f"the terms must be JSON: {error}. Do not join.") from error
        super().__init__(text=text, sha256=sha256, **terms["model"], **terms["collection"])
        self.owner, self.contact, self.purpose = (terms[name] for name in OWNER_FIELDS)
        features, self.labels = terms["features"], terms["target"]["labels"]
        self.D, columns = features["count"], {name: features[name] for name in COLUMNS}
        self.sensor = features["sensor"]
        vars(self).update(columns)
        self.columns = self.names or [str(j + 1) for j in range(self.D)]
        self.C, self.K = len(self.labels), max(len(self.labels), 1)
        self.d = self.K * (self.D + self.intercept)
        self.k, self.t = terms["privacy"]["directions"], terms["privacy"]["closest"]
        self.total = terms["privacy"]["epsilon"]
        self.epsilon = self.total / self.checkins
        self.S = 0.3 * terms["target"]["scale"] / self.batch
        steps = self.d * self.k + 2 * self.buffer * (self.d + STEPS_OF_SAMPLE)
        self.slots = -(-steps // STEPS_OF_SLOT)
        for holds, must in (
            (terms["task"] == task, f"be for the task {task}"),
            (self.C != 1 and len(set(self.labels)) == self.C, "have labels that differ"),
            ((self.C > 0) == (self.kind in ("softmax", "hinge")), "have a model for the labels"),
            (self.d <= 1_000_000, "make at most 1000000 parameters"),
            (self.batch <= self.buffer, "have a buffer for a whole batch"),
            (self.t < self.k, "have closest below directions"),
            (self.epsilon <= 40, "have an epsilon of at most 40 for each check-in"),
            (self.evaluators + self.counters <= 0.9 * (1 + 1e-9), "let one check-in in ten train"),
            (self.C > 0 or self.counters == 0, "have counters of 0 where there are no labels"),
            (sensor_makes(features["sensor"], self.D), "count what the sensor makes"),
            (
                all(len(columns[name]) in (0, self.D) for name in ("names", "center", "scale")),
                "have one name, center and scale for each feature, or none",
            ),
            (len(set(self.names)) == len(self.names), "have names that differ"),
            (all(name == name.strip() for name in self.names), "have names without a space around"),
            (not (self.names and features["sensor"]), "have no names where there is a sensor"),
            (self.center or self.missing == "reject", "have a center for what is missing"),
            (
                not self.start or re.fullmatch("[0-9a-f]{64}", self.start["sha256"]),
                "have a start with a SHA-256 in lower-case hexadecimal digits",
            ),
        ):
            if not holds:
                raise DeviceError(f"the terms must {must}. Do not join.")


def shape_of(terms: Terms) -> Any:
    """Describe the samples of these terms; samples fit all terms with an equal description."""
    document = read_json(terms.text)
    features = {**document["features"], "description": ""}
    return [features, document["target"]["labels"]]


def sensor_makes(sensor: Any, count: int) -> bool:
    """Check how features are made; samples may come from a file, so any sensor is accepted."""
    if sensor is None:
        return True
    transform, fields = sensor["transform"], sensor["fields"]
    made = {"summary": 4, "values": len(fields)}.get(transform)
    fits = count <= sensor["window"] if made is None else count == made
    return fits and (transform == "values") == bool(fields)


# What a check-in sends: one number


def choose(order: list[int], t: int, epsilon: float) -> int:
    """Draw one of the first t numbers with probability p, otherwise one of the k − t others.

    For every order, each number is sent with probability p/t or (1 − p)/(k − t), which differ by a
    factor of at most e^ε. That is the whole proof: nothing but this function needs to be right.
    """
    k = len(order)
    # exp may be off in its last bit, and p is rounded down, so that the true ε is not above ε.
    odds = Fraction(math.exp(epsilon)) * Fraction(1 - 2.0**-50)
    p = t * odds / (t * odds + k - t)
    if secrets.randbelow(2**64) < math.floor(p * 2**64):
        return order[secrets.randbelow(t)]
    return order[t + secrets.randbelow(k - t)]


def role_of(terms: Terms, key: str) -> str:
    """Return the role of a check-in by a public rule: "evaluate", "count" or "train"."""
    draw = int.from_bytes(hashlib.sha256(f"{key}\nrole".encode()).digest()[:4], "little")
    if draw < terms.evaluators * 2**32:
        return "evaluate"
    return "count" if draw < (terms.evaluators + terms.counters) * 2**32 else "train"


def codebook(key: str, d: int, k: int) -> Iterator[list[float]]:
    """Return v_0 … v_{k−1}, d numbers each: how many of eight mixed bits are ones, less 4.

    The 32-bit words of a row are mixed all at once, as one long integer that has 64 bits for each
    of them, so that a product does not reach the next.
    """
    keys = struct.unpack("<2I", hashlib.sha256(key.encode()).digest()[:8])
    row = -(-d // 4)  # words; a word is four numbers
    every = int.from_bytes(struct.pack("<Q", 1) * row, "little")  # 1 in each word
    first = int.from_bytes(struct.pack(f"<{row}Q", *range(row)), "little")
    low, layout = 0xFFFFFFFF * every, struct.Struct("<" + "4B4x" * row)
    for j in range(k):
        x = first + j * row * every
        for each in keys:
            x ^= each * every
            x ^= (x >> 16) & low
            x = (x * 0x7FEB352D) & low
            x ^= (x >> 15) & low
            x = (x * 0x846CA68B) & low
            x ^= (x >> 16) & low
        yield [CENTRED_BITS[byte] for byte in layout.unpack(x.to_bytes(8 * row, "little"))[:d]]


def in_whole_numbers(u: list[float]) -> tuple[list[float], float]:
    """Return ⌊2¹⁶·u_j/max|u| + ½⌋, as floats, and the length of u.

    Processors take many times as long for floats near 2⁻¹⁰⁷⁴, and a server could choose w so that
    some samples make them and others do not. So small values are dropped by comparisons alone.
    """
    top = max(map(abs, u))
    sound = SMALLEST_GRADIENT <= top < math.inf
    # No number reaches nan.
    least, top = (top / (4 * LARGEST_WHOLE), top) if sound else (math.nan, 1.0)
    kept = [value if abs(value) >= least else 0.0 for value in u]
    whole = [float(math.floor(value / top * LARGEST_WHOLE + 0.5)) for value in kept]
    return whole, top / LARGEST_WHOLE * math.sqrt(sum(map(mul, whole, whole)))


def direction(terms: Terms, key: str, u: list[float]) -> int:
    """Draw one of k directions, more likely one that u points to."""
    whole, length = in_whole_numbers(u)
    scores = [sum(map(mul, v, whole)) for v in codebook(key, terms.d, terms.k)]
    # A short u is turned round with the probability that makes its length right on average.
    short = 1 - min(1.0, length / terms.S)
    turned = secrets.randbelow(2**53) < short / 2 * 2**53
    # Of directions that are equally close the one with the lowest number comes first.
    order = sorted(range(terms.k), key=scores.__getitem__, reverse=not turned)
    return choose(order, terms.t, terms.epsilon)


def respond(truth: int, numbers: int, epsilon: float) -> int:
    """Return the truth, or at random another one of 0 … numbers − 1."""
    return choose([truth, *(n for n in range(numbers) if n != truth)], 1, epsilon)


def is_wrong(terms: Terms, w: list[float], x: list[float], y: float) -> bool:
    s = scores_of(terms, w, x)
    if terms.C:
        best = max(range(terms.K), key=s.__getitem__)  # the same work for every label
        return bool(best != y)
    return bool(abs(s[0] - y) > terms.tolerance)


def count_right(terms: Terms, w: list[float], samples: list[Sample]) -> tuple[int, int]:
    """Count the samples that the crowd's model is right about, before they are used.

    The counts are for the participant alone: they are in the device's file until it leaves.
    """
    if not any(w):
        return 0, 0  # it has learnt nothing yet
    return len(samples) - sum([is_wrong(terms, w, x, y) for x, y in samples]), len(samples)


def describe_personal_accuracy(tallies: list[list[int]], tolerance: float | None) -> str:
    """Say how well the crowd's model works for the participant, if it is known."""
    right = samples = 0
    for n, of in reversed(tallies):
        if samples < ENOUGH_SAMPLES:
            right, samples = right + n, samples + of
    if samples < 2:
        return ""
    part = f"{right:,} of your last {samples:,} samples"
    if tolerance is None:
        return f"The crowd’s model guessed {part} right."
    return f"The crowd’s model was within {four_digits_up(tolerance)} of the number in {part}."


def shares_over_time(tallies: list[list[int]]) -> list[float]:
    """Return the share of right predictions over time, in at most 30 parts."""
    counted = [each for each in tallies if each[1]]
    parts = min(len(counted), MOST_BARS)
    cuts = [i * len(counted) // max(parts, 1) for i in range(parts + 1)]
    cut = [counted[start:end] for start, end in zip(cuts, cuts[1:])]
    return [sum(n for n, _ in part) / sum(of for _, of in part) for part in cut]


def read_errors(table: str) -> list[list[float]]:
    """Read how often the crowd's model was wrong over time: check-ins, share and margin."""
    try:
        rows = [[float(cell) for cell in line.split(",")] for line in table.split()[1:]]
        for row in rows:
            check_error(*row)
    except (TypeError, ValueError) as error:
        raise DeviceError(f"the server's answer makes no sense: {error}.", "unknown") from error
    return rows


def check_error(version: float, share: float, margin: float) -> None:
    """Raise `ValueError` for an error of the model that cannot be; its margin may be infinite."""
    try:
        finite = math.isfinite(float(version) + float(share)) and not math.isnan(float(margin))
    except OverflowError:  # JSON's integers have no limit
        finite = False
    if not (finite and version >= 0 <= margin):
        raise ValueError(f"an error of {share:.3g} ± {margin:.3g}" if finite else "an error")


def read_statistics(now: Any) -> Any:
    """Return a task's statistics, if they make sense."""
    try:
        error = now["error"] or {"value": 0.0, "margin": 0.0}
        value, margin = error["value"], error["margin"]
        if type(now["version"]) is not int or not {type(value), type(margin)} <= {int, float}:
            raise ValueError(f"version {now['version']}, or error")
        check_error(now["version"], value, margin)
        if now["state"] not in {**STATES, **ENDINGS}:
            raise ValueError(f"state {now['state']}")
    except (TypeError, LookupError, ValueError) as error:
        raise DeviceError(f"the statistics make no sense: {error!r}.", "unknown") from error
    return now


def percent_range(share: float, margin: float) -> str:
    """Write an estimated share as a range in percent, rounded away from each other."""
    low, high = (min(max(end, 0.0), 1.0) for end in (share - margin, share + margin))
    decimals = 0 if high - low >= 0.02 else 1 if high - low >= 0.002 else 2
    unit = 10 ** (decimals + 2)
    ends = math.floor(low * unit + 1e-9), math.ceil(high * unit - 1e-9)
    below, above = (f"{end / 10**decimals:g}" for end in ends)
    return f"{below}\xa0%" if below == above else f"between {below} and {above}\xa0%"


def describe_contribution(mine: list[int], now: Any, errors: list[list[float]]) -> list[str]:
    """Say which check-ins were the participant's, and how the crowd's error changed since.

    No change is claimed where the two bands overlap.
    """
    if not mine:
        return []
    first, n, total = mine[0], len(mine), max(now["version"], mine[-1])
    so_far = "" if now["state"] in ENDINGS else " so far"
    yours = f"Yours was check-in {first:,} of {total:,}{so_far}."
    if n > 1:
        yours = f"{n:,} of {total:,} check-ins{so_far} were yours, the first was number {first:,}."
    if first >= now["version"]:
        return [yours]
    if not now["error"] or now["error"]["margin"] >= UNCERTAIN:
        return [yours, "How often the crowd’s model is wrong is not known."]
    share, margin = now["error"]["value"], now["error"]["margin"]
    said = percent_range(share, margin)
    then = max((each for each in errors if each[0] <= first), default=[0.0, 0.0, math.inf])
    if then[2] >= UNCERTAIN:
        return [yours, f"Now {said} of the model’s predictions are wrong."]
    before, after = (round_half_up(100 * min(max(each, 0.0), 1.0)) for each in (then[1], share))
    if abs(then[1] - share) > then[2] + margin and before != after:
        return [
            yours,
            f"Since then the crowd’s error went from about {before} % to about {after} % ({said}).",
        ]
    return [
        yours,
        f"When you checked in, {percent_range(*then[1:])} of the model’s predictions were wrong, "
        f"now {said} are. That is too close to tell whether it has become better.",
    ]


def make_payload(
    terms: Terms, key: str, w: list[float], samples: list[Sample], role: str
) -> dict[str, int]:
    """Return the one number that is ever sent about these samples."""
    if role != "train":
        x, y = samples[secrets.randbelow(len(samples))]
        if role == "count":
            return {"answer": respond(int(y), terms.C, terms.epsilon)}
        return {"wrong": respond(int(is_wrong(terms, w, x, y)), 2, terms.epsilon)}
    u = [g + terms.regularization * w_j for g, w_j in zip(mean_gradient(terms, w, samples), w)]
    return {"direction": direction(terms, key, u)}


# The models


def scores_of(terms: Terms, w: list[float], x: list[float]) -> list[float]:
    rows = [w[i * terms.D : (i + 1) * terms.D] for i in range(terms.K)]
    shift = w[terms.K * terms.D :] or [0.0] * terms.K
    return [sum(map(mul, row, x)) + b for row, b in zip(rows, shift)]


def slopes(terms: Terms, s: list[float], y: float) -> list[float]:
    """Return the derivative of the loss by each score."""
    if terms.kind == "softmax":
        top = max(s)
        # Cut, so that no slope is so close to 0 that processors take longer for it.
        powers = [math.exp(max(score - top, SMALLEST_EXPONENT)) for score in s]
        total = sum(powers)
        return [power / total - (i == y) for i, power in enumerate(powers)]
    if terms.kind == "hinge":
        rival = max((i for i in range(terms.C) if i != y), key=s.__getitem__)
        close = s[int(y)] - s[rival] < 1
        return [float(close * ((i == rival) - (i == y))) for i in range(terms.C)]
    most = terms.delta if terms.kind == "huber" else math.inf
    return [max(-most, min(s[0] - y, most))]


def mean_gradient(terms: Terms, w: list[float], samples: list[Sample]) -> list[float]:
    total = [0.0] * terms.d
    for x, y in samples:
        m = slopes(terms, scores_of(terms, w, x), y)
        g = [slope * value for slope in m for value in x] + (m if terms.intercept else [])
        total = [a + b for a, b in zip(total, g)]
    return [value / len(samples) for value in total]


# Samples


def without_unit(header: str, names: list[str]) -> str:
    """Return the name in a header such as `light [lux]`, if the task calls the column `light`."""
    name = re.sub(r"\s*[\[(][^\[\]()]*[\])]$", "", header)
    return name if header not in names and name in names else header


class Layout:
    """Read a source as its first line shows: lines of JSON, or CSV with or without a header.

    A CSV whose header has more semicolons or tabs than commas may have decimal commas.
    """

    def __init__(self, terms: Terms, source: str, first: str) -> None:
        self.terms, self.json = terms, first.lstrip().startswith("{")
        self.delimiter = "," if self.json else max(",;\t", key=first.count)
        self.header = [without_unit(cell.strip(), terms.names) for cell in self.cells(first)]
        self.ignored: set[str] = set()
        if self.json or any(is_number(self.decimal(cell)) for cell in self.header[:-1]):
            self.delimiter, self.header = ",", []
        how = {
            ",": "commas",
            ";": "semicolons, decimals by commas",
            "\t": "tabs, decimals by commas",
        }
        said = "lines of JSON" if self.json else f"CSV, columns separated by {how[self.delimiter]}"
        if terms.names and not self.json:
            said += "; columns by name" if self.header else "; columns in the order of the task"
        if terms.names or self.json or self.delimiter != ",":
            print(visible(f"{source} is read as {said}."), file=sys.stderr)
        if terms.names and self.header:
            try:
                self.keys(self.header)
            except ValueError as error:
                raise DeviceError(f"the header of {source}: {error}.") from error

    def cells(self, line: str) -> list[str]:
        return next(csv.reader([line], delimiter=self.delimiter))

    def read(self, line: str) -> list[list[float | None]]:
        """Return the readings of a line before scaling; none if it is not a sample."""
        try:
            self.sample(line)
            return [[self.number(*cell) for cell in zip(self.terms.columns, self.row(line))]]
        except NOT_A_SAMPLE:
            return []

    def row(self, line: str) -> list[Any]:
        """Return the readings in the order of the task, then the label."""
        terms, row = self.terms, read_json(line) if self.json else self.cells(line)
        if self.header and terms.names:
            if len(row) != len(self.header):
                raise ValueError(f"expected {len(self.header)} cells, found {len(row)}")
            row = dict(zip(self.header, row))
        if type(row) is dict:
            row = self.in_order(row) if type(row.get("x")) is list else self.by_name(row)
        if len(row) != terms.D + 1:
            raise ValueError(f"x must be {terms.D} numbers, found {len(row) - 1}")
        return list(row)

    def sample(self, line: str) -> Sample:
        """Return x, scaled by the terms to ‖x‖₂ ≤ 1, and y: a label by its name, or a target."""
        terms, row = self.terms, self.row(line)
        x = features(terms, [self.number(*cell) for cell in zip(terms.columns, row)])
        y = float(label_of(terms, row[-1]) if terms.C else self.target(row[-1]))
        return x, y if abs(y) >= SMALLEST_VALUE else 0.0

    def target(self, cell: Any) -> float:
        return target_of(self.decimal(cell))

    def in_order(self, row: dict[str, Any]) -> list[Any]:
        if "y" not in row:
            raise ValueError('expected {"x": [numbers], "y": label}: "y" is missing')
        return [*row["x"], row["y"]]

    def keys(self, found: list[str]) -> list[str]:
        """Return the names of the columns in the order of the task, then the label's name."""
        names, others = self.terms.names, [name for name in found if name not in self.terms.names]
        for name in names:
            if name not in found:
                near = difflib.get_close_matches(name, others, 1, 0)
                about = f", found {near[0]!r}" if near else ""
                raise ValueError(f"the column {name!r} is missing{about}")
            if found.count(name) > 1:
                raise ValueError(f"the column {name!r} is there twice")
        usual = {name.lower(): name for name in reversed(others)}
        last = others[-1:] if self.header and found[-1:] == others[-1:] else []
        for label in [*(usual[name] for name in TARGET_HEADERS if name in usual), *last]:
            return [*names, label]
        raise ValueError("the column 'y' with the label is missing")

    def by_name(self, row: dict[str, Any]) -> list[Any]:
        """Return the values in the order of the task, then the label; report other columns once."""
        if not self.terms.names:
            raise ValueError('expected {"x": [numbers], "y": label}')
        keys = self.keys(list(row))
        extra = [key for key in row if key not in keys and key not in self.ignored]
        if extra:
            self.ignored.update(extra)
            print(visible(f"ignored columns: {', '.join(extra)}"), file=sys.stderr)
        return [row[key] for key in keys]

    def decimal(self, cell: Any) -> Any:
        return cell.replace(",", ".") if type(cell) is str and self.delimiter != "," else cell

    def number(self, name: str, cell: Any) -> float | None:
        """Read a finite number, or None for an empty cell."""
        if cell is None or (type(cell) is str and not self.json and not cell.strip()):
            return None
        if not is_number(self.decimal(cell)) or (self.json and type(cell) is str):
            raise ValueError(f"column {name}: expected a finite number, found {cell!r}")
        value = float(self.decimal(cell))
        return None if math.isnan(value) else value


def label_of(terms: Terms, cell: Any) -> int:
    """Return the number of a label, found by its name: 1 is the name "1", and 1.0 is not."""
    name = str(cell).strip() if type(cell) in (str, int) else ""
    if name not in terms.labels:
        known = ", ".join(terms.labels[:10]) + ", …" * (terms.C > 10)
        as_text = " Labels are matched as text." * is_number(cell)
        raise ValueError(f"y must be one of {known}, found {cell!r}.{as_text}")
    return int(terms.labels.index(name))


def describe_label(label: str | None) -> str:
    """Say what the current label is."""
    if label is None:
        return "no label is set: nothing is collected until `label NAME`."
    return f"what is read now counts as {label}."


def target_of(cell: Any) -> float:
    """Return a real target; `ValueError` for anything else, and for what is too large."""
    if type(cell) is bool or not is_number(cell) or not abs(float(cell)) <= 1e12:
        raise ValueError(f"y must be a number within ±1e12, found {cell!r}")
    return float(cell)


def is_number(cell: Any) -> bool:
    """Return whether a cell holds a number that is not infinite."""
    try:
        plain = type(cell) is not str or (cell.isascii() and "_" not in cell)  # not 1_000 or １
        return plain and not math.isinf(float(cell))
    except (TypeError, ValueError, OverflowError):
        return False


def features(terms: Terms, values: list[float | None]) -> list[float]:
    """Return the scaled values, rescaled to ‖z‖₂ = 1 if longer."""
    x = scaled(terms, values)
    largest = max(map(abs, x))
    x = [value / largest for value in x] if largest > 1e150 else x
    length = max(1.0, math.sqrt(sum(map(mul, x, x))))
    return [0.0 if abs(value / length) < SMALLEST_VALUE else value / length for value in x]


def scaled(terms: Terms, values: list[float | None]) -> list[float]:
    """Return z = (value − center)/scale, cut at ± 6 scales, divided by the length."""
    x, centers, scales = [], terms.center or [0.0] * terms.D, terms.scale or [1.0] * terms.D
    for name, value, center, scale in zip(terms.columns, values, centers, scales):
        if value is None and terms.missing == "reject":
            raise ValueError(f"column {name}: expected a finite number, found none")
        z = 0.0 if value is None else (value - center) / scale
        x.append((min(MOST_SCALES, max(-MOST_SCALES, z)) if terms.scale else z) / terms.length)
    if not all(map(math.isfinite, x)):
        raise ValueError(f"expected {terms.D} finite numbers, found some that are too large")
    return x


def doubt_about(terms: Terms, rows: list[list[float | None]]) -> str:
    """Say why rows cannot be in the task's units, or nothing; labels do not count.

    Either most are cut at six scales or longer than 1 after scaling, or nearly all are the same.
    """
    cut: dict[int, list[float]] = {}
    seen: dict[tuple[float, ...], int] = {}
    wrong, centers = 0, terms.center or [0.0] * terms.D
    for row in rows:
        far = False
        for j, scale in enumerate(terms.scale):
            value = row[j]
            if value is not None and abs(value - centers[j]) > MOST_SCALES * scale:
                far = True
                cut.setdefault(j, []).append(value)
        wrong += far or math.hypot(*scaled(terms, row)) > 1 + 1e-6
        x = tuple(features(terms, row))
        seen[x] = seen.get(x, 0) + 1
    if 2 * wrong > len(rows):
        about = "they are longer than 1, and would be shortened"
        if cut:
            j = max(sorted(cut), key=lambda j: len(cut[j]))
            usual = f"{centers[j]:g} ± {terms.scale[j]:g}"
            about = f"{terms.columns[j]!r} is {cut[j][0]:g}, usual is {usual}"
        return f"{wrong} of the first {len(rows)} rows cannot be in the task's units: {about}."
    if len(rows) >= FEWEST_ALIKE and max(seen.values()) >= ALIKE * len(rows):
        return f"{max(seen.values())} of the first {len(rows)} rows have the same features."
    return ""


SourceLine = tuple[int, str, Layout, dict[str, Any]]  # number, text, layout, position


def read_lines(
    terms: Terms, source: str, sources: dict[str, Any]
) -> Generator[SourceLine, None, None]:
    """Return lines that were not taken before, with number, layout and position."""
    path, digest, n, layout = os.path.realpath(source), hashlib.sha256(), 0, None
    taken, sha256 = sources.get(path, (0, ""))
    changed = DeviceError(
        f"the first {taken:,} lines of {source} were taken before, and must be as they were, found "
        "others: its samples would count, and cost, twice. Put new samples into a new file."
    )
    with open(0 if source == "-" else source, encoding="utf-8-sig", errors="replace") as lines:
        for n, line in enumerate(iter(lambda: lines.readline(LONGEST_LINE + 1), ""), 1):
            if len(line) > LONGEST_LINE:
                most = f"at most {LONGEST_LINE:,} characters, found more. Is it a text file?"
                raise DeviceError(f"line {n:,} of {source} must have {most}")
            digest.update(line.rstrip("\n").encode() + b"\n")
            if n == taken and digest.hexdigest() != sha256:
                raise changed
            if not line.strip():
                continue
            if layout is None:
                layout = Layout(terms, source, line)
                if layout.header:
                    continue
            if n > taken:
                position = {path: (n, digest.hexdigest())} if os.path.isfile(source) else {}
                yield n, line, layout, position
    if n < taken:
        raise changed


# A sensor's readings, as termux-sensor prints them, and samples from them

SENSOR_WORDS = {"motion": "accel", "light": "light"}  # in a vendor's name of the sensor
VARIANT_WORDS = ("linear", "uncal", "wake")  # in the names of its variants
GAP_SECONDS, GAP_TICKS = 1.0, 5  # readings further apart than either are in no window together
FLOOR = 2.0**-40  # a bin below this share of the largest reading, for each reading, is rounding
LONGEST_OBJECT, MOST_WAITING = 2**20, 100_000
FULL_PAUSE = 60.0  # seconds until the next attempt to check in, while readings come


def termux_objects(lines: Iterable[str]) -> Iterator[str]:
    """Cut lines into JSON objects that begin and end at the start of a line; skip other text."""
    found: list[str] = []
    for n, line in enumerate(lines, 1):
        if len(line) > LONGEST_OBJECT:
            most = f"at most {LONGEST_OBJECT:,} characters, found more. Is it a text file?"
            raise DeviceError(f"line {n:,} of standard input must have {most}")
        found = [line] if line.startswith("{") else [*found, line] if found else []
        alone = len(found) == 1 and line.rstrip().endswith("}")
        if found and (line.startswith("}") or alone):
            yield "".join(found)
            found = []
        elif sum(map(len, found)) > LONGEST_OBJECT:
            found = []


def termux_reading(text: str, kind: str) -> float | None:
    """Return the reading of an object, the length of a vector for motion; None if it has none."""
    document = read_json(text)
    if type(document) is not dict or any(
        type(entry) is not dict or type(entry.get("values")) is not list
        for entry in document.values()
    ):
        raise ValueError('expected {"NAME": {"values": [numbers]}}')
    fitting = [name for name in document if SENSOR_WORDS[kind] in name.lower()]
    if not fitting and len(document) == 1:
        fitting = list(document)
    if not fitting:
        return None
    name = min(fitting, key=lambda name: sum(word in name.lower() for word in VARIANT_WORDS))
    values = document[name]["values"][: 3 if kind == "motion" else 1]
    if not values or not all(type(value) in (int, float) for value in values):
        raise ValueError(f"expected numbers, found {values}")
    reading = math.sqrt(sum(value * value for value in values)) if kind == "motion" else values[0]
    if not math.isfinite(reading):
        raise ValueError(f"expected finite numbers, found {values}")
    return float(reading)


class Sensing:
    """Take readings and labels, and return samples when they are due by the terms.

    Ticks come `rate` times a second from the first reading on. A tick takes the newest reading at
    its time. A gap, or a new label, starts a new window.
    """

    def __init__(self, terms: Terms, every: float) -> None:
        self.terms, self.sensor = terms, terms.sensor
        self.rate, self.every = self.sensor["rate"], max(self.sensor["every"], every)
        self.window: deque[float] = deque(maxlen=self.sensor["window"])
        self.start, self.ticks, self.reading, self.newest = 0.0, 0, 0.0, -math.inf
        self.label: str | None = None
        self.rows: list[list[float | None]] = []  # of new samples, before they are shortened
        self.last_time = -math.inf
        self.last_label: str | None = None

    def push(self, now: float, reading: float, label: str | None) -> Iterator[Sample]:
        """Take in a reading, with the label None if unknown; return the samples it completes."""
        if not now > self.newest:
            return
        if now - self.newest > max(GAP_SECONDS, GAP_TICKS / self.rate):
            self.window.clear()
            self.start, self.ticks = now, 0
        while (tick := self.start + self.ticks / self.rate) < now:
            self.ticks += 1
            self.window.append(self.reading)
            due = len(self.window) == self.window.maxlen and tick - self.last_time >= self.every
            changed = self.sensor["trigger"] == "always" or self.label != self.last_label
            if self.label is not None and due and changed:
                self.last_time, self.last_label = tick, self.label
                yield self.sample(list(self.window), self.label)
        if label != self.label:
            self.window.clear()
        self.newest, self.reading, self.label = now, reading, label

    def sample(self, window: list[float], label: str) -> Sample:
        """Return x and y of one window."""
        y = float(self.terms.labels.index(label)) if self.terms.C else target_of(label)
        row: list[float | None] = list(features_of(self.sensor, self.terms.D, window))
        self.rows.append(row)
        return features(self.terms, row), y


def features_of(sensor: dict[str, Any], count: int, window: list[float]) -> list[float]:
    """Return the features of one window of readings."""
    n, scale = len(window), sensor["scale"]
    if sensor["transform"] == "summary":
        mean = math.fsum(window) / n
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in window) / n)
        return [value / scale for value in (mean, deviation, min(window), max(window))]
    least = n * FLOOR * max(map(abs, window))
    bins = [abs(value) for value in fourier([complex(value) for value in window])[:count]]
    bins = [value if value >= least else 0.0 for value in bins]
    bins[0] *= sensor["first_bin"]
    divisor = sum(bins) if sensor["transform"] == "spectrum" else scale
    return [value / divisor for value in bins] if divisor > 0 else bins


def fourier(values: list[complex]) -> list[complex]:
    """Return the discrete Fourier transform, by halves as long as their number is even."""
    n = len(values)
    turns = [cmath.exp(-2j * math.pi * k / n) for k in range(n)]
    if n % 2:
        return [sum(v * turns[j * k % n] for j, v in enumerate(values)) for k in range(n)]
    even, odd = fourier(values[::2]), fourier(values[1::2])
    return [even[k % (n // 2)] + turns[k] * odd[k % (n // 2)] for k in range(n)]


def arrivals(
    lines: Iterable[str], clock: Callable[[], float], file: str = ""
) -> Iterator[tuple[float, str | None, str]]:
    """Return objects with the time at which they came, and the label at that time.

    A thread of its own reads them, so both are right even while the device checks in.

    Args:
        file: The device's file, which has the label.
    """
    waiting: queue.Queue[tuple[float, str | None, str] | None] = queue.Queue(MOST_WAITING)
    broken: list[DeviceError | sqlite3.Error] = []

    def read() -> None:
        known, label, db = None, None, None
        try:
            db = private_database(file) if file else None
            for found in termux_objects(lines):
                now = clock()
                version = db and db.execute("PRAGMA data_version").fetchone()[0]
                if db and version != known:
                    state = db.execute("SELECT document FROM state").fetchone()[0]
                    known, label = version, json.loads(state).get("label")
                waiting.put((now, label, found))
        except (DeviceError, sqlite3.Error) as problem:
            broken.append(problem)
        except UnicodeDecodeError as error:
            broken.append(DeviceError(f"standard input must be UTF-8 text: {error}."))
        except (OSError, ValueError):
            pass  # standard input was closed: the end
        finally:
            if db:
                db.close()
            waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    while found := waiting.get():
        yield found
    if broken:
        raise broken[0]


# The promise: crowdml/protocol/sentences.py has the same sentences, and a test compares them


def promise(terms: Terms) -> dict[str, str]:
    """Return what is promised to the person: the level, and every sentence by its name."""
    private = terms.total <= PRIVATE_UP_TO * (1 + 1e-9)
    level = next(
        (word for most, word in PRIVACY_LEVELS.items() if terms.total <= most * (1 + 1e-9)), ""
    )
    said = {"level": f"{level.capitalize()} privacy" if private else "Not private"}
    if not private:
        said["not_private"] = (
            f"It has ε = {four_digits_up(terms.total)} for a person. Above {PRIVATE_UP_TO} nothing "
            "is protected: a guess can become certain."
        )
    kept = "Your readings never leave your device."
    open_ = "Your device sends numbers from which your samples can be worked out."
    samples = "1 sample" if terms.batch == 1 else f"{terms.batch:,} samples"
    said["stays"] = (
        f"{kept if private else open_} When it has {samples}, it sends one message, a check-in."
    )
    said["often"] = f"It stops after {terms.checkins:,} check-ins."
    if terms.checkins == 1:
        said["often"] = "It sends one check-in, and no more."
    if terms.evaluators or terms.counters:
        said["rule"] = "A public rule, not your device, decides what a check-in sends."
    said.update(roles(terms))
    said["hides"] = "What is sent is changed at random, but so little that " + (
        "a guess about you can become nearly certain." if private else "nothing is protected."
    )
    if terms.total <= 4 * (1 + 1e-9):
        said["hides"] = "What is sent is partly random, never certain."
    said["epsilon"] = (
        f"ε = {four_digits_up(terms.total)}, for everything that you send to this task."
    )
    question = "whether your number was high or low"
    if terms.C:
        question = f"whether your answer was “{terms.labels[0]}” or “{terms.labels[1]}”"
    often = times_in_words(certainty_of_loss(terms.total), ROUNDED_UP)
    sure = f"right {often}" if "in" in often.split() else "practically certain"
    said["loss"] = (
        f"Suppose somebody wonders {question}, and guesses right half the time. From everything "
        f"your device sends they could at worst be {sure}. We call that "
        f"{level or 'not private'}."
    )
    if terms.checkins > 1:
        one = times_in_words(certainty_of_loss(terms.epsilon), ROUNDED_UP)
        said["less"] = f"With one check-in instead of {terms.checkins:,} it would be {one}."
    return said


def roles(terms: Terms) -> dict[str, str]:
    """Return what check-ins of each role send, and how often that is true."""
    shares = (terms.evaluators, terms.counters)
    of = next((n for n in range(1, 1000) if all(fits(s, n) for s in shares)), 1000)
    others = [max(1, round_half_up(s * of)) if s else 0 for s in shares]
    counts = (of - sum(others), *others)
    often = [f"In {n:,} of {of:,} check-ins it sends" for n in counts]
    if not sum(others):
        often[0] = "In every check-in it sends"
    said = {
        "train": f"{often[0]} one number: which of {terms.k:,} directions the model should move in."
    }
    about = "right about one of your samples"
    if not terms.C:
        about = f"within {four_digits_up(terms.tolerance)} of the number in one of your samples"
    if terms.evaluators:
        true = times_in_words(truth(2, terms.epsilon))
        said["evaluate"] = (
            f"{often[1]} only whether the model was {about}. What it sends is true {true}; "
            "otherwise it is the opposite."
        )
    if terms.counters:
        true = times_in_words(truth(terms.C, terms.epsilon))
        said["count"] = (
            f"{often[2]} only your answer to one sample. The answer sent is the true one {true}; "
            "otherwise it is made up."
        )
    return said


def certainty_of_loss(epsilon: float) -> float:
    """Return how often, at most, a coin's guess can become right."""
    return 1 / (1 + math.exp(-epsilon))


def truth(numbers: int, epsilon: float) -> float:
    """Return how often `respond` returns the truth."""
    return 1 / (1 + (numbers - 1) * math.exp(-epsilon))


def round_half_up(value: float) -> int:
    return math.floor(value + 0.5)


def fits(share: float, of: int) -> bool:
    """Return whether this share of `of` check-ins is a whole number above 0, or the share is 0."""
    n = round_half_up(share * of)
    return abs(share * of - n) < 1e-6 and (n > 0 or share == 0)


ROUNDED_UP = 1 - 1e-9  # added to a bound before it is cut, as far as floats are exact


def times_in_words(share: float, up: float = 0.5) -> str:
    for of in (10**2, 10**3, 10**4, 10**5, 10**6):
        if 0 < math.floor(share * of + up) < of - 1:
            return f"{math.floor(share * of + up):,} times in {of:,}"
    return "practically always" if share > 0.5 else "practically never"


def four_digits_up(value: float) -> str:
    """Write a number with four significant digits, rounded up."""
    four = Context(4, ROUND_HALF_UP)
    digits = four.create_decimal(value)
    if float(digits) < value * (1 - 1e-9):
        digits = digits.next_plus(four)
    return f"{digits.normalize():,f}"


# Storage and output


def unusable(path: str, error: Exception) -> DeviceError:
    """Say why a file cannot be used, and what to do."""
    remedy = "Make room on the disk, or see to the disk, and start again: nothing is lost."
    if "malformed" in str(error) or "not a database" in str(error) or "no such" in str(error):
        remedy = "It is damaged: put it aside, and join again with another --file."
    return DeviceError(f"cannot use {path}: {error}. {remedy}")


def make_private(path: str) -> None:
    """Let only the owner read a file, if somebody has widened access."""
    for file in (path, f"{path}-journal"):
        if os.path.exists(file) and os.stat(file).st_mode & 0o077:
            os.chmod(file, 0o600)


def private_database(path: str) -> sqlite3.Connection:
    """Open an SQLite file that only its owner may read."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    db = sqlite3.connect(path, timeout=30, isolation_level=None)
    db.execute("PRAGMA synchronous = EXTRA")  # a commit survives a power cut
    db.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
    return db


class Record:
    """Keep what was sent under which number, in a separate file for all devices of a folder.

    The device's file can be copied, or restored from a backup; then it forgets what was sent, and
    would draw anew for the same number. A check-in is first in the device's file, then here, and
    only then sent: so the device's file never knows less than its record, unless it is a copy.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.join(os.path.dirname(os.path.abspath(path)), "crowdml.record")

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(private_database(self.path)) as db, db:
                db.execute("BEGIN IMMEDIATE")
                columns = "device, number, checkin, epsilon, PRIMARY KEY (device, number)"
                db.execute(f"CREATE TABLE IF NOT EXISTS sent ({columns})")
                make_private(self.path)
                yield db
        except sqlite3.Error as error:
            raise unusable(self.path, error) from error

    def begin(self, device: str) -> None:
        """Begin the record of a device that joins; without a record it sends nothing."""
        with self.change() as db:
            db.execute("INSERT INTO sent VALUES (?, 0, '', 0)", (device,))

    def end(self, device: str) -> None:
        """Remove the record of a device that leaves: a copy of its file sends nothing then."""
        with self.change() as db:
            db.execute("DELETE FROM sent WHERE device = ?", (device,))

    def known(self, device: str) -> list[float]:
        """Return the ε of each check-in, in order."""
        rows: list[float] = []
        if os.path.exists(self.path):
            with self.change() as db:
                query = "SELECT epsilon FROM sent WHERE device = ? ORDER BY number"
                rows = [row[0] for row in db.execute(query, (device,))]
        if not rows:
            raise DeviceError(
                f"{self.path} must have the record of what this device has sent, and has none. "
                "Nothing is sent. If you have moved the device, move that file from its old "
                "folder, too, and use the old copy no more. Otherwise leave and join again: what "
                "you send then adds to what you have lost."
            )
        return rows[1:]

    def claim(self, device: str, number: int, checkin: str, epsilon: float) -> bool:
        """Write a check-in down before it is sent; False if another one has its number."""
        newest = len(self.known(device))
        with self.change() as db:
            for n in range(newest + 1, number + 1):  # more than one after an old record came back
                row = (device, n, checkin if n == number else "", epsilon)
                db.execute("INSERT INTO sent VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
            found = "SELECT checkin FROM sent WHERE device = ? AND number = ?"
            known: str = db.execute(found, (device, number)).fetchone()[0]
        return known == checkin


class DeviceStore:
    """Open one SQLite file that only its owner may read; processes that share it take turns."""

    def __init__(self, path: str) -> None:
        self.record, new = Record(path), not os.path.exists(path)
        try:
            self.open(path)
        except (OSError, sqlite3.Error):
            if new and os.path.exists(path):
                os.remove(path)
            raise

    def open(self, path: str) -> None:
        self.path = path
        self.db = private_database(path)
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            if self.scalar("PRAGMA application_id") != APPLICATION_ID:
                if self.scalar("SELECT count(*) FROM sqlite_master"):
                    raise DeviceError(
                        f"{path} is another program's file. Name another with --file."
                    )
                self.db.execute("CREATE TABLE buffer (sample)")
                self.db.execute("CREATE TABLE state AS SELECT ? AS document", ('{"ledger": []}',))
                self.db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        make_private(path)

    def scalar(self, query: str) -> Any:
        return self.db.execute(query).fetchone()[0]

    def read(self, device: str | None = None) -> Any:
        state = json.loads(self.scalar("SELECT document FROM state"))
        if state.get("device") != (device or state.get("device")):
            raise DeviceError("another process has left the task with this file.")
        return state

    def n_samples(self) -> int:
        return int(self.scalar("SELECT count(*) FROM buffer"))

    def end_if_overtaken(self, outbox: str = "", said: str = "") -> bool:
        """Charge check-ins that only the record has, since another copy has sent them, and end.

        The outbox, if given, is answered in the same transaction; it shows that there is a copy.
        """
        with self.change() as state:
            known = self.record.known(state.get("record", ""))
            if outbox and state["outbox"] == outbox:
                state["outbox"], state["ledger"][-1]["answer"] = None, said
            if outbox or len(known) > state["number"]:
                state.update(ended="copied", why=COPIED)
            for number in range(state["number"] + 1, len(known) + 1):
                entry = {"task": state["task"], "number": number, "role": "unknown"}
                entry |= {"epsilon": known[number - 1], "answer": "sent by another copy"}
                state["ledger"].append(entry)
                state["number"] = number
        return bool(state.get("ended") == "copied")

    @contextmanager
    def change(self, device: str | None = None) -> Iterator[Any]:
        """Change what is remembered in one durable transaction, all or nothing."""
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            state = self.read(device)
            yield state
            self.db.execute("UPDATE state SET document = ?", (json.dumps(state),))


class Server:
    """Call one task on one server, over HTTPS, or plain HTTP on this machine."""

    def __init__(self, url: str, task: str, fingerprint: str = "", token: str = "") -> None:
        self.url, self.task, self.fingerprint, self.token = urlsplit(url), task, fingerprint, token
        self.host, https = self.url.hostname or "", self.url.scheme == "https"
        self.context: ssl.SSLContext | None = None
        if not https and self.host not in ("localhost", "127.0.0.1", "::1"):
            raise DeviceError(f"a server is https://HOST, or http on this machine, found {url!r}.")
        if fingerprint and not (https and re.fullmatch("[0-9a-f]{64}", fingerprint)):
            raise DeviceError(NO_FINGERPRINT)

    def connect(self) -> http.client.HTTPConnection:
        if self.url.scheme == "http":
            return http.client.HTTPConnection(self.host, self.url.port, timeout=30)
        if not self.context:
            self.context = self.pinned() if self.fingerprint else ssl.create_default_context()
        return self.secured(self.context)

    def secured(self, context: ssl.SSLContext) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self.host, self.url.port, timeout=30, context=context)

    def pinned(self) -> ssl.SSLContext:
        """Trust one certificate while it is valid, whatever its names and signatures."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with closing(self.secured(context)) as connection:
            connection.connect()  # and nothing is sent
            certificate = connection.sock.getpeercert(True) or b""
        found = hashlib.sha256(certificate).hexdigest()
        if found != self.fingerprint:
            other = f"the server's certificate has another fingerprint, {found}. Do not go on."
            raise Untrusted(other, "unknown")
        context.load_verify_locations(cadata=certificate)
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= PARTIAL_CHAIN
        return context

    def call(self, method: str, path: str = "", body: str | None = None) -> tuple[Any, Any]:
        """Return headers and document of an answer. Redirects fail: they would get the token."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            with closing(self.connect()) as connection:
                target = path if path.startswith("/tasks/") else f"/v1/tasks/{self.task}{path}"
                connection.request(method, self.url.path.rstrip("/") + target, body, headers)
                answer = connection.getresponse()
                said, kind = answer.read(8 * 2**20), answer.headers.get_content_type()
                document = said.decode() if kind == "text/csv" else read_json(said or "null")
        except ssl.SSLCertVerificationError as error:
            why = f"the server's certificate is not trusted: {error.verify_message}. "
            if error.verify_code in WRONG_DATES:
                today = time.strftime("%Y-%m-%d")
                why += f"This machine's clock says {today}: set it if it is wrong. Otherwise ask "
                raise Untrusted(
                    f"{why}the task's owner to renew the certificate.", "unknown"
                ) from error
            raise Untrusted(f"{why}Ask the task's owner; see --fingerprint.", "unknown") from error
        except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
            raise DeviceError(
                f"cannot reach the server: {why_unreachable(error)}.", "unknown"
            ) from error
        if answer.status in (200, 201, 204):
            return answer.headers, document
        problem = document if type(document) is dict else {}
        own, _, kind = str(problem.get("type")).partition("urn:crowdml:problem:")
        kind = "unknown" if own or not kind else kind  # problems of a proxy say nothing to us
        wait: Any = problem.get("retry_after")
        wait = min(wait, LONGEST_WAIT) if type(wait) in (int, float) and wait >= 0 else 0.0
        why = f"the server says no: {problem.get('detail', answer.status)}"
        raise DeviceError(why, kind if answer.status < 500 else "unavailable", wait)


def why_unreachable(error: Exception) -> str:
    """Say why a server cannot be reached, without the numbers and file names of libraries."""
    if str(error).startswith("\x15\x03"):
        return "it speaks TLS, so its address begins with https://"
    if isinstance(error, ssl.SSLError) and error.reason in PLAIN_HTTP:
        return "it does not speak TLS there, so its address begins with http://"
    if isinstance(error, (ValueError, RecursionError)):
        return f"its answer makes no sense: {error}"
    return str(getattr(error, "strerror", None) or error)


# A device's life


def join(
    store: DeviceStore, link: str, fingerprint: str, invite: str, yes: bool, accept_no_privacy: bool
) -> str:
    """Show the terms, and pin what was shown."""
    found = re.fullmatch(r"(https?://.+)/(?:join|v1/tasks)/([a-z0-9][a-z0-9-]{0,62})/?", link)
    if not found:
        raise DeviceError(f"a link is https://HOST/join/TASK, found {link!r}.")
    url, task = found.groups()
    old = excluded(store, url, task) if "device" in store.read() else None
    server = Server(url, task, re.sub("[: ]", "", fingerprint).lower())
    view = require_texts(server.call("GET")[1], "title", "objective", "terms", "terms_sha256")
    terms = Terms(view["terms"], task)
    if terms.sha256 != view["terms_sha256"]:
        raise DeviceError("the terms do not have the hash that the server names. Do not join.")
    kept = store.n_samples()
    if old and kept and old.shape != shape_of(terms):
        fit = "do not fit the new terms. Leave and join again to discard them."
        raise DeviceError(f"{kept} samples that no check-in has used {fit}")
    for line in (view["title"], view["objective"], *terms.text.split("\n")):
        print(visible(line))
    # Below the terms, so that a long text cannot push it out of sight.
    said = promise(terms)
    leaves = [said[name] for name in SENDING_SENTENCES if name in said]
    lost = [said["level"] + ".", *(visible(said[name]) for name in LOSS_SENTENCES if name in said)]
    if "not_private" in said:
        lost.append(f"\nTHIS TASK IS NOT PRIVATE. {said['not_private']}")
    print(f"""
Who asks:      {visible(terms.owner)}; reach them at {visible(terms.contact)}
What for:      {visible(terms.purpose)}{describe_start(terms)}
What leaves:   {" ".join(leaves)}
How to stop:   `leave`, at any time, erases the samples here; what was sent stays in the model.
What you lose: {" ".join(lost)}
What you lost: ε = {epsilon_spent(store):g} before, as far as this file knows.
The terms are: {terms.sha256}""")
    if "not_private" in said and not accept_no_privacy:
        raise DeviceError(
            "not joined. To join a task that is NOT PRIVATE, add --accept-no-privacy."
        )
    if not yes and input("Agree and join? [y/N] ").strip().lower() not in ("y", "yes"):
        raise DeviceError("not joined.")
    request = {"terms": terms.sha256, **({"invite": invite} if invite else {})}
    me = require_texts(server.call("POST", "/devices", json.dumps(request))[1], "device", "token")
    if not all(re.fullmatch("[!-~]{1,200}", value) for value in me.values()):
        raise DeviceError("the server gives no name and token that make sense.")
    me |= {"url": url, "task": task, "fingerprint": server.fingerprint, "terms": terms.text}
    me["record"] = secrets.token_hex(16)
    store.record.begin(me["record"])
    with store.change() as state:
        if state.get("device") != (old.device if old else None):
            raise DeviceError("another process has joined a task with this file.")
        for name in ("ended", "versions", "tallies", "why"):
            state.pop(name, None)
        state.update(me, number=0, outbox=None, sources=state.get("sources", {}))
    if old:
        store.record.end(old.record)
        return f"joined {task} again as device {me['device']}, with {kept} samples that were kept"
    return f"joined {task} as device {me['device']}"


def excluded(store: DeviceStore, url: str, task: str) -> Any:
    """Return the terms of a device that the server no longer knows; fail if it knows it."""
    me, device = store.read(), Device(store)
    where = f"this file takes part in {me['task']} at {me['url']}, as device {me['device']}."
    if (me["url"].rstrip("/"), me["task"]) != (url.rstrip("/"), task):
        raise DeviceError(f"{where} Leave that first, or name another --file.")
    why = me.get("why", "") if me.get("ended") in FINAL_REJECTIONS else ""
    try:
        if not why:
            device.server.call("GET", "/model")
    except DeviceError as problem:
        why = str(problem) if problem.kind in FINAL_REJECTIONS else ""
    if not why:
        raise DeviceError(f"{where} There is nothing to do.")
    print(visible(f"The server knows this device no more: {why} The ledger and the samples stay."))
    return SimpleNamespace(shape=shape_of(device.terms), device=me["device"], record=me["record"])


def describe_start(terms: Terms) -> str:
    """Return a line that says where the model starts from, if it does not start at zero."""
    if not terms.start:
        return ""
    rows, people, words = (terms.start[name] for name in ("rows", "people", "words"))
    start = "one that was learnt before"
    if rows is not None:
        start = "a pilot of " + ("1 sample" if rows == 1 else f"{rows:,} samples")
        if people is not None:
            start += " of 1 person" if people == 1 else f" of {people:,} people"
    about = f" ({visible(words)})" if words else ""
    return f"\nStarts with:   The model starts from {start}{about}."


def require_texts(document: Any, *names: str) -> dict[str, str]:
    """Return these texts of an answer; other fields are ignored, so that answers can grow."""
    if type(document) is not dict or any(type(document.get(name)) is not str for name in names):
        raise DeviceError("no answer that makes sense.", "unknown")
    return {name: document[name] for name in names}


def epsilon_spent(store: DeviceStore) -> float:
    return math.fsum(entry["epsilon"] for entry in store.read()["ledger"])


def personal_accuracy(store: DeviceStore) -> list[str]:
    """Say how well the crowd's model works for the participant, if it is known."""
    me = store.read()
    terms = Terms(me["terms"], me["task"]) if "device" in me else None
    tolerance = terms.tolerance if terms and not terms.C else None  # of a number
    said = describe_personal_accuracy(tallies := me.get("tallies", []), tolerance)
    bars = "".join(BARS[min(int(8 * share), 7)] for share in shares_over_time(tallies))
    over_time = f"Over time, from no sample to all: {bars}"
    return [f"{said} Only this device knows the exact count.", over_time] if said else []


def result(store: DeviceStore) -> list[str]:
    """Say what became of the check-ins, by the task's public statistics."""
    me = Device(store).store.read()
    server = Server(me["url"], me["task"], me["fingerprint"])  # no token: anybody may ask
    now, errors = read_statistics(server.call("GET", "/stats")[1]), list[list[float]]()
    with suppress(DeviceError):  # a server without pages has none
        table = server.call("GET", f"/tasks/{me['task']}/charts/error.csv")[1]
        errors = read_errors(table if type(table) is str else "")
    n = f"{now['version']:,} check-ins"
    said = (
        f"has ended, after {n}."
        if now["state"] in ENDINGS
        else f"is {now['state']}, with {n} so far."
    )
    became = describe_contribution(sorted(me.get("versions", [])), now, errors)
    learnt = f"What was learnt: {me['url'].rstrip('/')}/tasks/{me['task']}"
    return [f"The task {me['task']} {said}", *became, learnt]


class Device:
    """Run Algorithm 1 of the paper: collect, check out, send one number."""

    def __init__(self, store: DeviceStore) -> None:
        self.store, me = store, store.read()
        if "device" not in me:
            raise DeviceError("this file has not joined a task. Join one first.")
        self.name, self.terms = me["device"], Terms(me["terms"], me["task"])
        self.server = Server(me["url"], me["task"], me["fingerprint"], me["token"])

    def run(self, source: str, wait: float, yes: bool = False) -> str:
        """Take samples until there are no more, or no more are wanted; return which."""
        self.check_in(wait)
        taken = self.store.read(self.name)["sources"]
        with closing(read_lines(self.terms, source, taken)) as lines:
            return self.take(lines, source, os.path.realpath(source) not in taken, wait, yes)

    def take(
        self, lines: Iterator[SourceLine], source: str, new: bool, wait: float, yes: bool
    ) -> str:
        """Take samples from the lines of a source; `new` if none of them was taken before."""
        kept = skipped = bad = 0
        later = time.monotonic() + PROGRESS_SECONDS
        before = self.store.n_samples()
        rows: list[list[float | None]] | None = []  # of a stream; None after the look at them
        if os.path.isfile(source):  # can be read again: nothing is taken before the look at it
            rows = None
            first = list(islice(lines, max(LOOKED_AT, self.terms.batch))) if new else []
            self.check_rows(
                source, [row for _, line, layout, _ in first for row in layout.read(line)], yes
            )
            lines = chain(first, lines)
        for n, line, layout, position in lines:
            if self.done():
                break
            if time.monotonic() >= later:
                later = time.monotonic() + PROGRESS_SECONDS
                print(f"{source}: at line {n:,}, {kept:,} samples kept", file=sys.stderr)
            try:
                sample = layout.sample(line)
            except NOT_A_SAMPLE as error:
                skipped, bad = skipped + 1, bad + 1
                if skipped <= MOST_SHOWN:
                    print(visible(f"skipped line {n}, {line[:40]!r}: {error}"), file=sys.stderr)
                if bad >= MOST_BAD:
                    last = f"the last {MOST_BAD:,} lines are no samples."
                    raise DeviceError(f"stopped at line {n:,} of {source}: {last}") from error
                continue
            if rows is not None:
                rows += layout.read(line)
                if self.store.n_samples() + 1 >= self.terms.batch:
                    self.check_rows(source, rows, yes, self.store.n_samples() - before)
                    rows = None
            bad, kept = 0, kept + 1
            while not self.keep(sample, position):
                self.check_in(wait)
            self.check_in(wait)
        if skipped > MOST_SHOWN:
            print(f"… and {skipped - MOST_SHOWN:,} more", file=sys.stderr)
        if self.done():
            return ALL_MADE
        if not kept and (skipped or (new and source != "-")):
            raise DeviceError(
                f"{source} must have at least one valid sample, found none. The task wants "
                + (
                    "the columns " + ", ".join(self.terms.names)
                    if self.terms.names
                    else f"lines of {self.terms.D} numbers"
                )
                + ", and then "
                + (f"one of {', '.join(self.terms.labels)}." if self.terms.C else "a number.")
            )
        return f"{self.store.n_samples()} of {self.terms.batch} samples wait for a check-in."

    def set_label(self, label: str | None) -> str:
        """Set the label from now on; None to collect nothing. Return a sentence about it."""
        labels = self.terms.labels
        if label is not None:
            same = [name for name in labels if name.casefold() == label.strip().casefold()]
            if labels and label not in labels and len(same) != 1:
                raise DeviceError(f"the label must be one of {', '.join(labels)}, found {label!r}.")
            if not labels:
                try:
                    target_of(label)
                except ValueError as error:
                    within = "a number within ±1e12"
                    raise DeviceError(f"the label must be {within}, found {label!r}.") from error
            label = label if label in labels or not labels else same[0]
        with self.store.change(self.name) as state:
            state["label"] = label
        return describe_label(label)

    def sense(
        self,
        lines: Iterable[str],
        every: float,
        yes: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> str:
        """Take samples from what termux-sensor prints, until it ends or no more are wanted."""
        sensor, known, later, origin = self.terms.sensor, None, 0.0, None
        # Rows that wait for a look, those of earlier runs too; None after it.
        first: list[list[float | None]] | None = self.store.read(self.name).get("first", [])
        if not sensor or sensor["kind"] not in SENSOR_WORDS:
            raise DeviceError("--format termux needs a task that reads motion or light.")
        sensing, n_skipped = Sensing(self.terms, every), 0
        for now, label, text in arrivals(lines, clock, self.store.path):
            version = self.store.scalar("PRAGMA data_version")
            if version != known:  # another process has written: it may have left the task
                known = version
                if self.done():
                    break
            try:
                reading = termux_reading(text, sensor["kind"])
                samples: list[Sample] = []
                sensing.rows.clear()
                if reading is not None:
                    origin = now if origin is None else origin
                    samples = list(sensing.push(now - origin, reading, label))
            except NOT_A_SAMPLE as error:
                n_skipped += 1
                if n_skipped <= MOST_SHOWN:
                    print(visible(f"skipped {text[:40]!r}: {error}"), file=sys.stderr)
                continue
            for sample, row in zip(samples, sensing.rows):
                if first is not None:
                    first.append(row)
                    n_samples = self.store.n_samples() + 1
                    if n_samples >= self.terms.batch or len(first) >= LOOKED_AT:
                        self.check_rows("-", first, yes, len(first) - 1, app=True)
                        first = None
                if not self.keep(sample, {}, first=first):
                    n_skipped += 1
                    if n_skipped <= MOST_SHOWN:
                        print("skipped a sample: the buffer is full.", file=sys.stderr)
            if samples and time.monotonic() >= later:
                try:
                    self.check_in(0.0)
                except DeviceError as problem:
                    if problem.kind in FINAL_REJECTIONS | NEEDS_PERSON:
                        raise
                    later = time.monotonic() + max(FULL_PAUSE, problem.retry_after)
                    print(visible(f"{problem} Trying again later."), file=sys.stderr)
                if self.done():
                    break
        if self.done():
            return ALL_MADE
        return f"{self.store.n_samples()} of {self.terms.batch} samples wait for a check-in."

    def keep(self, sample: Sample, position: dict[str, Any], **changes: Any) -> bool:
        """Keep a sample, unless another process has taken it; False while the buffer is full.

        Other changes of what is remembered are written with it.
        """
        with self.store.change(self.name) as state:
            taken = state["sources"]  # by other processes, too
            if any(position[path][0] <= taken.get(path, (0,))[0] for path in position):
                return True
            if self.store.n_samples() >= self.terms.buffer:
                return False
            self.store.db.execute("INSERT INTO buffer VALUES (?)", (json.dumps(sample),))
            taken.update(position)
            state.update(changes)
        return True

    def check_rows(
        self,
        source: str,
        rows: list[list[float | None]],
        yes: bool,
        kept: int = 0,
        app: bool = False,
    ) -> None:
        """Ask before anything is spent on rows that look wrong; without an answer, stop.

        When it stops, it forgets the last `kept` samples in the buffer, which are from the same
        source, and with `app` the rows of a sensor app that waited for the look.
        """
        said = doubt_about(self.terms, rows)
        if said and (yes or (source != "-" and sys.stdin.isatty())):
            print(visible(f"{source}: {said}"), file=sys.stderr)
            if yes or input("Go on, and spend ε on them? [y/N] ").strip().lower() in ("y", "yes"):
                return
        if said:
            newest = "SELECT rowid FROM buffer ORDER BY rowid DESC LIMIT ?"
            with self.store.change(self.name) as state:
                self.store.db.execute(f"DELETE FROM buffer WHERE rowid IN ({newest})", (kept,))
                if app:
                    state["first"] = []
            remedy = APP_REMEDY if app else REMEDY
            raise DeviceError(f"{said} Nothing was spent on them. {remedy}", "rows")

    def done(self) -> bool:
        """Return whether all check-ins are made, by our count or the server's, and none waits."""
        state = self.store.read(self.name)
        every = state["number"] >= self.terms.checkins or "ended" in state
        return bool(every and not state["outbox"])

    def check_in(self, wait: float) -> None:
        """Send what waits; with a full minibatch, send one number about it.

        What is rejected is tried again for `wait` seconds, or dropped: see `send_pending`. What
        only a person can change is raised. tests/vectors/behaviour.json has every case.
        """
        deadline, failures, state = time.monotonic() + wait, 0, self.store.read(self.name)
        if state.get("ended") in FINAL_REJECTIONS | {"copied"}:
            raise DeviceError(state["why"], state["ended"])
        while True:
            try:
                self.send_pending()
                if self.store.n_samples() >= self.terms.batch and not self.done():
                    if self.store.end_if_overtaken():
                        raise DeviceError(COPIED, "copied")
                    number = self.store.read(self.name)["number"] + 1
                    model, started = self.check_out(number), time.monotonic()
                    self.release(number, *model)
                    # The time it took must not show what was drawn, or from which samples.
                    slot = self.terms.slots * SLOT
                    time.sleep(slot - (time.monotonic() - started) % slot)
                self.send_pending()
                return
            except DeviceError as problem:
                if problem.kind in FINAL_REJECTIONS | {"too-many-checkins"}:
                    with self.store.change(self.name) as state:
                        state.update(ended=problem.kind, why=str(problem))
                if problem.kind not in {"", "copied", *FINAL_REJECTIONS} and self.done():
                    print(visible(problem), file=sys.stderr)
                    return
                pause = min(2.0 ** min(failures, 30), LONGEST_PAUSE)
                pause = max(pause * (0.5 + secrets.randbelow(1000) / 1000), problem.retry_after)
                failures += 1
                late = time.monotonic() + pause > deadline
                if late or problem.kind in FINAL_REJECTIONS | NEEDS_PERSON:
                    raise
                print(visible(f"{problem} Trying again."), file=sys.stderr)
            time.sleep(pause)

    def check_out(self, number: int) -> tuple[int, list[float]]:
        """Fetch the model's version and w; they must make sense and be on the agreed terms.

        A check-in that evaluates gets the model that people use, and the others the newest w.
        """
        evaluates = role_of(self.terms, self.checkin_key(number)) == "evaluate"
        headers, model = self.server.call("GET", "/model" + "?role=evaluate" * evaluates)
        if headers["Crowdml-Terms"] != self.terms.sha256:
            raise DeviceError("the terms have changed. Leave, and read them anew.", "terms-changed")
        try:
            version, state = model["version"], model["state"]
            parameters = b64decode(model["parameters"], validate=True)
            w, start = struct.unpack(f"<{self.terms.d}f", parameters), self.terms.start
            if type(version) is not int or version < 0 or not all(map(math.isfinite, w)):
                raise ValueError(f"version {version}, or w")
            if state in ENDINGS:
                raise DeviceError(ENDINGS[state], "task-finished")
            if STATES[state]:
                raise DeviceError(STATES[state], "task-paused")
            if start and version == 0 and hashlib.sha256(parameters).hexdigest() != start["sha256"]:
                raise ValueError(f"version 0 is not the start of the terms, {start['sha256']}")
        except (TypeError, LookupError, ValueError, struct.error) as error:
            raise DeviceError(f"the model makes no sense: {error!r}.", "unknown") from error
        return version, list(w)

    def checkin_key(self, number: int) -> str:
        """Return what identifies a check-in: all public, and not chosen by the device."""
        return f"{self.terms.sha256}\n{self.name}\n{number}"

    def release(self, number: int, version: int, w: list[float]) -> None:
        """Turn the buffer into one number, all or nothing: privacy depends on this step.

        Samples leave the buffer, the cost enters the ledger and the message the outbox in one
        commit. Before it nothing was sent; after it the same bytes are sent until they are
        answered: a second draw would reveal more about the same samples.
        """
        terms, db = self.terms, self.store.db
        with self.store.change(self.name) as state:
            samples = [json.loads(row[0]) for row in db.execute("SELECT sample FROM buffer")]
            enough = len(samples) >= terms.batch and number <= terms.checkins
            if not enough or number != state["number"] + 1 or state["outbox"]:
                return  # another process was faster
            key = self.checkin_key(number)
            role = role_of(terms, key)
            payload = make_payload(terms, key, w, samples, role)
            message = {"id": secrets.token_urlsafe(16), "version": version, "terms": terms.sha256}
            state["outbox"] = json.dumps({**message, "number": number, **payload})
            state["number"], entry = number, {"task": state["task"], "number": number}
            entry |= {"role": role, "epsilon": terms.epsilon, "answer": "waiting"}
            state["ledger"].append(entry)
            state["tallies"] = [*state.get("tallies", []), count_right(terms, w, samples)]
            db.execute("DELETE FROM buffer")

    def send_pending(self) -> None:
        """Send what waits. The server has read a rejected check-in too: its ε stays in the ledger.

        A rejected check-in is dropped, unless the same bytes may be accepted later.
        """
        state, rejection = self.store.read(self.name), None
        outbox, record, key = state["outbox"], self.store.record, state.get("record", "")
        if not outbox:
            return
        checkin, number = json.loads(outbox)["id"], state["number"]
        if not record.claim(key, number, checkin, self.terms.epsilon):
            self.store.end_if_overtaken(outbox, "not sent: another copy has sent this number")
            raise DeviceError(COPIED, "copied")
        try:
            answer = self.server.call("POST", "/checkins", outbox)[1]
            said, version = require_texts(answer, "status")["status"], answer.get("version")
            if said not in ("applied", "duplicate"):
                raise DeviceError(f"no answer that makes sense: {said}.", "unknown")
        except DeviceError as problem:
            if problem.kind in RETRIABLE_REJECTIONS:
                raise
            if problem.kind == "repeated-number":
                record.claim(key, number + 1, f"{checkin}-copy", self.terms.epsilon)
                self.store.end_if_overtaken(outbox, f"rejected: {problem.kind}")
                raise DeviceError(COPIED, "copied") from problem
            said, version, rejection = f"rejected: {problem.kind}", None, problem
        with self.store.change(self.name) as state:
            if state["outbox"] == outbox:
                state["outbox"], state["ledger"][-1]["answer"] = None, said
                if type(version) is int and version > 0:
                    state["versions"] = [*state.get("versions", []), version]
        if rejection:
            raise rejection

    def leave(self) -> str:
        """Leave the task. The ledger stays, because a person who joins again loses more."""
        try:
            if self.store.read(self.name).get("ended") not in FINAL_REJECTIONS:
                self.server.call("DELETE", "/devices/me")
        except DeviceError as problem:
            print(visible(f"left without telling the server: {problem}"), file=sys.stderr)
        with suppress(OSError, DeviceError):  # a damaged record keeps nobody from leaving
            self.store.record.end(self.store.read(self.name).get("record", ""))
        with self.store.change(self.name) as state:
            for key in state.keys() - {"ledger"}:
                del state[key]
            self.store.db.execute("DELETE FROM buffer")
        return "left; all is erased but the ledger. Delete the file to erase that."


def seconds(text: str) -> float:
    """Read a time on the command line: not nan, and at most a day."""
    if not 0 <= float(text) <= 86_400:
        raise argparse.ArgumentTypeError(f"must lie in 0 … 86,400, found {text}.")
    return float(text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Take part in a crowdml task.")
    parser.add_argument("command", choices=["join", "run", "label", "ledger", "result", "leave"])
    parser.add_argument(
        "link", nargs="?", default="", help="join: https://HOST/join/TASK; label: its name"
    )
    parser.add_argument("--fingerprint", help="join: SHA-256 of its certificate")
    parser.add_argument("--invite", default="", help="join: a code, if the task asks for one")
    parser.add_argument("--yes", action="store_true", help="agree, or go on, without being asked")
    parser.add_argument(
        "--accept-no-privacy", action="store_true", help=f"join: with ε above {PRIVATE_UP_TO} too"
    )
    parser.add_argument("--source", default="-", help="run: a CSV file, or - for standard input")
    parser.add_argument("--format", choices=["termux"], help="run: readings, not samples")
    parser.add_argument("--label", help="run: what is read at first, with --format")
    parser.add_argument("--none", action="store_true", help="label: collect nothing")
    parser.add_argument(
        "--every",
        type=seconds,
        default=0.0,
        help="run: seconds from one sample to the next, at least",
    )
    parser.add_argument("--wait", type=seconds, default=300.0, help="run: seconds to try again")
    parser.add_argument(
        "--file", default="device.sqlite", help="the file with everything that the device remembers"
    )
    args = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = 0
        if args.command != "join" and not os.path.exists(args.file):
            raise DeviceError(f"there is no {args.file}. Join a task first.")
        store = DeviceStore(args.file)
        if args.command == "join":
            if args.fingerprint == "":  # an unset variable in a script must not drop the pin
                raise DeviceError(NO_FINGERPRINT)
            pin = args.fingerprint or ""
            print(join(store, args.link, pin, args.invite, args.yes, args.accept_no_privacy))
        elif args.command == "ledger":
            with suppress(DeviceError):  # without a record, or a device, the file is all there is
                if "device" in store.read():
                    store.end_if_overtaken()
            for entry in store.read()["ledger"]:
                print(visible(", ".join(f"{key} {value}" for key, value in entry.items())))
            print(f"ε = {epsilon_spent(store):g} in total")
            for line in personal_accuracy(store):
                print(line)
        elif args.command == "result":
            for line in (*personal_accuracy(store), *result(store)):
                print(visible(line))
        else:
            device = Device(store)
            if args.command == "leave":
                print(device.leave())
            elif args.command == "label":
                if bool(args.link) == args.none:
                    raise DeviceError("a label must be named, found none. Name one, or use --none.")
                print(device.set_label(args.link or None))
            else:
                if args.format:
                    if args.source != "-":
                        raise DeviceError(
                            f"--format termux needs --source -, found {args.source!r}."
                        )
                    if args.label:
                        print(device.set_label(args.label))
                    else:
                        print(describe_label(store.read().get("label")))
                    sys.stdout.flush()
                    bounded = iter(lambda: sys.stdin.readline(LONGEST_OBJECT + 1), "")
                    print(device.sense(bounded, args.every, args.yes))
                elif args.every or args.label is not None:
                    both = "--every and --label need --format termux"
                    raise DeviceError(f"{both}, found none. Add it, or leave them out.")
                else:
                    print(device.run(args.source, args.wait, args.yes))
                code = 3 if device.done() else 0
        sys.stdout.flush()
    except (DeviceError, OSError, ValueError, EOFError, sqlite3.Error, csv.Error) as error:
        kind = "" if isinstance(error, Untrusted) else getattr(error, "kind", "")
        if isinstance(error, sqlite3.Error):
            error = unusable(args.file, error)
        elif isinstance(error, OSError) and error.strerror:
            if not error.filename:  # standard output: what is left of it cannot be written
                sys.stdout = None
            error = DeviceError(f"cannot use {error.filename or 'the output'}: {error.strerror}.")
        print(
            visible(error) or "nobody answers here. Add --yes to go on without a question.",
            file=sys.stderr,
        )
        code = EXIT_CODES.get(kind, 1) if args.command == "run" else 1
    return code


if __name__ == "__main__":
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(signal_number) != signal.SIG_IGN:  # `nohup` stays as it is
            signal.signal(signal_number, lambda number, frame: sys.exit(128 + number))
    sys.exit(main())
