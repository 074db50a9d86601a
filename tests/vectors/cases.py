"""Choose the inputs of the vectors so that they reveal every fault of another implementation."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from crowdml import portal
from crowdml.models import MODELS
from crowdml.privacy import CheckinKey, Role
from crowdml.protocol import Terms, terms_hash
from tests.vectors.agreements import agreed, followed
from tests.vectors.compute import Case
from tests.vectors.promises import promised, sent_before
from tests.vectors.tasks import TASKS

LANGUAGES = Path(portal.__file__).with_name("languages")


def grid() -> list[Case]:
    return [
        {"clip": clip, "largest": largest, "n": n, "strength": strength}
        for clip, largest in ((2.0, 2.0), (4.0, 14.0), (0.3, 1e6), (1.0, 1.0))
        for n in (1, 20, 997)
        for strength in (0.01, 0.9, 1.0, 64.0, 5000.0, "inf")
    ]


def sensitivity() -> list[Case]:
    return [
        {"clip": clip, "n": n, "grid": k, "rounding": rounding}
        for clip in (2.0, 0.1, 4.0)
        for n, k, rounding in (
            (1, -20, 6),
            (20, -23, 500),
            (3, -26, 50),
            (997, -30, 7850),
            (4, 0, 1),
        )
    ]


def quantisation() -> list[Case]:
    halves = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.0, -0.0]
    return [
        {"values": halves, "grid": 0},
        {"values": [v / 8 for v in halves], "grid": -3},
        {"values": [0.1, -0.1, 1 / 3, 2.0, -2.0, 1e-9, 0.7071067811865476], "grid": -23},
        {"values": [0.1, -0.1, 1 / 3, 2.0, -2.0, 1e-9, 0.7071067811865476], "grid": -28},
        {"values": [100.0, -37.0, 4.0, 12.0, 20.0], "grid": 3},
    ]


def labels() -> list[Case]:
    numbers, words = ["1", "2", "3"], ["still", "walk", "straße 1"]
    return [
        {"labels": names, "written": written}
        for names, several in (
            (numbers, ("1", '"1"', '" 2 "', "3", "0", "4", "1.0", '"1.0"', '"01"')),
            (words, ('"walk"', '" still\\t"', '"straße 1"', '"Walk"', '"wa lk"', '"strasse 1"')),
            (words, ("0", "1", '"1"', "1.5", "true", "null", "[]", "{}", '""', '["walk"]')),
            (["true", "null", "1.5"], ("true", "null", "1.5", '"true"', '"null"', '"1.5"')),
            ([], ("1", "1.0", "-2.5", '"2.5"', "1e13", "true", "null", '"walk"', '"nan"', "[1]")),
        )
        for written in several
    ]


def features() -> list[Case]:
    return [
        {"x": x, "norm": norm}
        for norm in (1, 2)
        for x in (
            [3.0, -1.0],
            [0.5, 0.25],
            [0.5, 0.5],
            [0.1, 0.2, 0.3, -0.4],
            [1.0, 2.0, 4.0, -9.0],
            [0.0, 0.0],
            [1e308, -1e308, 1e308, 1e308],
            [5e-324, 1.0],
        )
    ] + [
        {"x": x, "norm": norm, "features": constants}
        for norm in (1, 2)
        for x, constants in (
            *((x, ROOM) for x in ROOM_READINGS),
            *((x, ROOM | {"missing": "center"}) for x in ROOM_READINGS),
            ([21.5, 40.0], {"count": 2, "center": [21.0, 45.0]}),
            ([1e308, 40.0], {"count": 2, "center": [21.0, 45.0]}),
            ([21.5, 40.0], {"count": 2, "scale": [3.0, 12.0]}),
            ([-1e308, 1e308], {"count": 2, "scale": [1e-9, 1e9]}),
            ([21.5, 40.0], {"count": 2, "length": 70.0}),
            ([0.1, -0.7], {"count": 2, "length": 3.0}),
            ([1e308, 1.0], {"count": 2, "length": 1e-9}),
            ([0.1, None], {"count": 2, "center": [0.3, 0.0], "missing": "center"}),
            ([0.1, None], {"count": 2}),
            ([9.0, 1.0, 0.2, 12.0], {
                "count": 4, "scale": [1.0, 0.3, 0.1, 7.0], "length": 2.0,
                "sensor": {"kind": "light", "window": 20, "transform": "summary", "scale": 20.0},
            }),
        )
    ]  # fmt: skip


ROOM: Case = {
    "count": 4, "names": ["humidity", "temperature", "light", "hours"],
    "center": [45.0, 21.0, 300.0, 6.0], "scale": [12.0, 3.0, 250.0, 3.0], "length": 2.9,
}  # fmt: skip
ROOM_READINGS: list[list[float | None]] = [
    [45.0, 21.0, 300.0, 6.0],
    [40.0, 21.5, 320.0, 7.25],
    [71.3, 17.9, 12.0, 0.1],
    [63.1, 39.0, 3e4, -12.0],
    [63.1, 39.000001, 3e4, -12.000001],
    [117.0, 3.0, 1800.0, 24.0],
    [1e308, -1e308, 0.0, 6.0],
    [40.0, None, 300.0, 6.5],
    [None, None, None, None],
]


def gradients() -> list[Case]:
    rng = np.random.default_rng(20)
    cases = []
    for name, kind in MODELS.items():
        classes = 3 if kind.classifier else 0
        for intercept in (False, True):
            size = max(classes, 1) * (3 + intercept)
            x = rng.integers(-8, 9, size=(5, 3)) / 32
            y = np.arange(5) % classes if classes else rng.integers(-16, 17, size=5) / 8
            for clip, norm in ((2.0, 1), (0.25, 1), (0.25, 2)):
                cases.append({
                    "kind": name, "n_features": 3, "n_classes": classes, "intercept": intercept,
                    "tolerance": 0.5, "delta": 0.75, "clip": clip, "norm": norm,
                    "w": (rng.integers(-64, 65, size=size) / 16).tolist(),
                    "x": x.tolist(), "y": y.tolist(),
                })  # fmt: skip
    return cases


def noisy() -> list[Case]:
    noise = {"gradient": [1048577, -3, 0, -2000000], "errors": [-2], "labels": [4, -1]}
    case: Case = {
        "law": "laplace", "levels": {"gradient": 0.9, "errors": 0.05, "labels": 0.05}, "delta": 0.0,
        "clip": 2.0, "regularization": 0.0, "radius": 1000.0, "g": [0.3, -0.7, 0.0, 1e-7],
        "w": [0.5, -0.25, 3.0, 0.125], "mistakes": [i % 6 == 0 for i in range(20)],
        "n_classes": 2, "labels": [int(i > 11) for i in range(20)], "heldout": 0.0, "draws": [],
        "noise": noise,
    }  # fmt: skip
    none = {"gradient": "inf", "errors": "inf", "labels": "inf"}
    extreme = {"gradient": [2**33, -(2**33), 0, 0], "errors": [0], "labels": [0, 0]}
    one = {"mistakes": [True], "labels": [1]}
    cases: list[Case] = [
        {},
        {"heldout": 0.2, "draws": [0, 18, 5, 11]},
        {"mistakes": [False] * 57, "labels": [0, 1] * 28 + [0]},
        {"regularization": 0.01, "clip": 1.5},
        {"regularization": 0.1, "radius": 50.0, **one},
        {"noise": extreme},
        {"levels": none, "noise": {}},
        {
            "levels": {"gradient": 2.0, "errors": 0.1, "labels": 0.0},
            "n_classes": 0,
            "labels": [],
            "noise": {"gradient": [5, 4, 3, 2], "errors": [1]},
        },
    ]
    gaussian: Case = {
        "law": "gaussian",
        "delta": 1e-6,
        "levels": {"gradient": 0.022, "errors": 0.001, "labels": 0.0012},
    }
    laplace = [{**case, **changes} for changes in cases]
    return laplace + [{**case, **gaussian, **changes} for changes in cases]


def checkouts() -> list[Case]:
    return [
        {"version": 0, "state": "running", "parameters": [0.0, 0.0]},
        {"version": 41, "state": "paused", "parameters": [1.0, -2.0, 0.1, 1e-40, 3e38]},
        {"version": 9007199254740991, "state": "reached", "parameters": [-0.5]},
    ]


def ledger() -> list[Case]:
    def noise(
        g: float | str, e: float | str, y: float | str, n: int = 20, h: int = 0, delta: float = 0.0
    ) -> Case:
        on = "heldout" if h else "training"
        return {
            "n_training": n - h,
            "n_heldout": h,
            "releases": [
                {"what": "gradient", "part": "training", "sensitivity": 9, "level": g},
                {"what": "errors", "part": on, "sensitivity": 1, "level": e},
                {"what": "labels", "part": "all", "sensitivity": 2, "level": y},
            ],
            "delta": delta,
        }

    def number(epsilon: float, number: int = 1, role: str = "train") -> Case:
        return {"number": number, "role": role, "epsilon": epsilon}

    tenth, small = noise(0.09, 0.005, 0.005), noise(0.1, 0.2, 0.3, n=7)
    aside, open_ = noise(0.5, 0.25, 0.125, h=4), noise("inf", "inf", "inf")
    gauss, wide = noise(0.02, 0.001, 0.001, delta=1e-6), noise(0.1, 0.2, 0.3, n=3, delta=1e-3)
    exposed = noise("inf", "inf", "inf", delta=1e-6)
    third, report = number(4 / 3), number(4 / 3, 2, "evaluate")
    count = number(4 / 3, 3, "count")
    return [
        {"events": events, "next": following, "limits": {"per_sample": one, "per_device": all_}}
        for events, following, one, all_ in (
            ([], tenth, 0.1, 0.1),
            ([], tenth, 0.0999999, 1.0),
            ([tenth] * 9, tenth, 0.1, 1.0),
            ([tenth] * 10, tenth, 0.1, 1.0),
            ([tenth] * 9, tenth, 0.1, 1.0 - 0.9e-10),
            ([tenth] * 9, tenth, 0.1, 1.0 - 1.1e-10),
            ([tenth] * 10, number(1e-10), 0.1, 1.0),
            ([number(1e-10)] * 9, number(1e-10), 0.1, 1e-9),
            ([tenth, small, aside] * 7, aside, 1.0, 100.0),
            ([small] * 3 + [tenth] * 5, small, 0.6, 2.9),
            ([aside], aside, 0.625, 1.25),
            ([aside], aside, 0.62, 1.25),
            ([], open_, 1e308, 1e308),
            ([open_, tenth], tenth, 1.0, 100.0),
            ([], gauss, 1.0, 1.0),
            ([], gauss, 0.99, 1.0),
            ([gauss] * 9, gauss, 1.0, 3.36),
            ([gauss] * 9, gauss, 1.0, 3.35),
            ([gauss, wide], gauss, 3.0, 100.0),
            ([gauss], exposed, 1e308, 1e308),
            ([third, report], third, 4 / 3, 4.0),
            ([third, report, count], third, 4 / 3, 4.0),
            ([third], report, 1.33, 4.0),
            ([third, gauss, tenth], report, 2.0, 10.0),
        )
    ]


def results() -> list[Case]:
    nothing: Case = {
        "tallies": [], "tolerance": None, "mine": [], "state": "running", "version": 0,
        "error": None, "errors": [],
    }  # fmt: skip
    many = [[k % 4, 3] for k in range(67)]
    tallies: list[Case] = [
        {},
        {"tallies": [[1, 1]]},
        {"tallies": [[0, 0], [17, 20]]},
        {"tallies": [[2, 12], [7, 12], [10, 12]]},
        {"tallies": [[1, 3], [0, 0], [3, 3]], "tolerance": 0.25},
        {"tallies": many},
    ]
    ended: Case = {"mine": [314], "state": "reached", "version": 1000, "error": [0.14, 0.03]}
    past_errors = [[100, 0.4, 0.1], [300, 0.21, 0.03], [700, 0.16, 0.02]]
    became: list[Case] = [
        {**ended, "errors": past_errors},
        {**ended, "mine": [314, 315, 900], "errors": past_errors},
        {**ended, "error": [0.19, 0.03], "errors": past_errors},
        {**ended, "error": [0.3, 0.05], "errors": past_errors},
        {**ended, "error": [0.204, 0.001], "errors": [[314, 0.2062, 0.001]]},
        {**ended, "errors": past_errors[2:]},
        {**ended, "error": [0.01, 0.04], "errors": [[9, 0.3, 0.5]]},
        {**ended, "error": [0.3, 0.5], "errors": past_errors},
        {**ended, "error": None},
        {**ended, "mine": [1000]},
        {**ended, "mine": [5, 7], "state": "running", "errors": past_errors},
        {**ended, "state": "paused", "errors": past_errors},
        {**ended, "mine": [1001]},
        {**ended, "error": [-0.02, 0.03], "errors": past_errors},
        {**ended, "error": [0.9, 0.01], "errors": [[9, 1.04, 0.02]]},
    ]
    return [nothing | case for case in [*tallies, *became]]


def messages() -> list[Case]:
    """Yield every mechanism with every model, and every role."""
    rng, others = np.random.default_rng(30), np.random.default_rng(31)
    cases = []
    for name, kind in MODELS.items():
        classes = 3 if kind.classifier else 0
        for intercept, penalty in ((False, 0.0), (True, 0.01)):
            for privacy, collection in _promises(classes):
                n, size = 11, max(classes, 1) * (5 + intercept)
                heldout = int(collection.get("heldout", 0.0) * n)
                directed = privacy["mechanism"] == "direction"
                x = rng.normal(size=(n, 5))
                number = int(rng.integers(1, 6))
                parts = {"gradient": size, "errors": 1} | ({"labels": classes} if classes else {})
                noise = {
                    what: rng.integers(-(2**21), 2**21, size=count).tolist()
                    for what, count in parts.items()
                    if not directed
                }
                cases.append({
                    "terms": json.dumps({
                        "task": "vectors", "owner": "o", "contact": "c", "purpose": "p",
                        "sensors": "none",
                        "features": {"count": 5, "description": ""},
                        "target": {"labels": [f"label {k}" for k in range(classes)], "scale": 2.0},
                        "model": {
                            "kind": name, "clip": None if directed else 0.8,
                            "regularization": penalty, "radius": 10.0,
                            "intercept": intercept, "delta": 0.75, "tolerance": 0.5,
                        },
                        "privacy": privacy,
                        "collection": {"batch": 7, "buffer": 30, **collection},
                    }),
                    "device": f"device {number}", "number": number,
                    "version": int(rng.integers(1000)), "id": "abcdefghijklmnop-_0123",
                    "w": rng.normal(size=size).round(6).tolist(),
                    "exported": None if directed or intercept
                    else others.normal(size=size).round(6).tolist(),
                    "x": (x / np.abs(x).sum(axis=1, keepdims=True)).round(9).tolist(),
                    "y": (np.arange(n) % 3 if classes else rng.normal(size=n).round(3)).tolist(),
                    "draws": [int(rng.integers(n - i)) for i in range(heldout)],
                    "noise": noise,
                })  # fmt: skip
                if directed:
                    cases[-1]["draws"] = _draws(rng, n, classes, cases[-1])
    return cases


def _draws(rng: np.random.Generator, n: int, classes: int, case: Case) -> list[int | str]:
    """Yield a sample or a turn, the coin, and one of the best or of the others."""
    agreed = Terms.parse(case["terms"])
    place = CheckinKey(terms_hash(case["terms"]), case["device"], case["number"])
    role = agreed.collection.roles.role_of(place)
    high, small = bool(rng.integers(2)), int(rng.integers(2**60))
    coin = str(2**64 - 1 - small if high else small)
    if role is not Role.TRAIN:
        others = classes - 1 if role is Role.COUNT else 1
        return [int(rng.integers(n)), coin, int(rng.integers(others)) if high else 0]
    return [int(rng.integers(2**53)), coin, int(rng.integers(237 if high else 19))]


def _promises(classes: int) -> list[tuple[Case, Case]]:
    """Yield privacy terms with the collection terms that belong to them."""
    laplace = {
        "mechanism": "laplace", "epsilon": 1.0, "epsilon_g": 0.9, "epsilon_e": 0.05,
        "epsilon_y": 0.05 if classes else 0.0,
    }  # fmt: skip
    gaussian = {
        "mechanism": "gaussian", "epsilon": 1.0, "delta": 1e-6, "rho_g": 0.02, "rho_e": 0.002,
        "rho_y": 0.002 if classes else 0.0,
    }  # fmt: skip
    direction = {"mechanism": "direction", "epsilon": 8.0, "directions": 256, "closest": 19}
    return [
        (laplace, {"heldout": 0.0}),
        (laplace, {"heldout": 0.3}),
        (gaussian, {"heldout": 0.0}),
        (gaussian, {"heldout": 0.3}),
        (direction, {"checkins": 5, "evaluators": 0.0, "counters": 0.0}),
        (direction, {"checkins": 5, "evaluators": 0.9, "counters": 0.0}),
        (direction, {"checkins": 5, "evaluators": 0.0, "counters": 0.9 if classes else 0.0}),
        (direction, {"checkins": 5, "evaluators": 0.3, "counters": 0.3 if classes else 0.0}),
    ]


def zcdp() -> list[Case]:
    return [
        {"rho": rho, "delta": delta}
        for rho in (0.0, 1e-9, 1e-4, 0.02, 0.1, 1.0, 7.5, 1000.0, 1e6)
        for delta in (1e-15, 1e-6, 0.01)
    ]


PLACES = [
    {"terms_sha256": sha256, "device": device, "number": number}
    for sha256 in ("0" * 64, "0123456789abcdef" * 4)
    for device in ("ana", "D7u_-x", "Zoë")
    for number in (1, 2, 1_000_000)
]


def codebooks() -> list[Case]:
    """Yield codebooks with small integer weights, so that scores are exact in any order."""
    rng = np.random.default_rng(50)
    return [
        {
            **place,
            "size": size,
            "directions": directions,
            "which": [0, 1, directions - 1],
            "u": rng.integers(-8, 9, size=size).tolist(),
        }
        for place, size, directions in zip(
            PLACES,
            (1, 2, 3, 4, 5, 7, 8, 15, 33, 99, 100, 128, 500, 6, 11, 12, 13, 1001),
            (2, 3, 8, 64, 33, 100, 17, 40, 64, 50, 7, 20, 30, 4096, 256, 2, 5, 11),
            strict=True,
        )
    ]


def rounding() -> list[Case]:
    """Yield numbers of every size, including numbers with which a server could time a device."""
    rng = np.random.default_rng(51)
    huge, tiny, least = 1e300, 5e-324, 2.0**-500
    return [
        {"u": u}
        for u in (
            [3.0, -4.0, 5e-324],
            [0.0, -0.0],
            [tiny, -tiny, 1e-310],
            [least, -least / 2, least / 2**17, -least / 2**18],
            [least * (1 - 2**-53), least / 4],
            [1.0, 2**-17, -(2**-17), 2**-17 * (1 - 2**-53), 2**-18, -1.5 * 2**-16],
            [huge, -huge, 1.0, tiny],
            [-1e-30, 1.0, 1e-5, -7e-6],
            [1e-300, tiny, -1e-305],
            *(rng.normal(size=size).tolist() for size in (1, 5, 99)),
            (rng.normal(size=40) * 2.0 ** rng.integers(-1074, 20, size=40)).tolist(),
        )
    ]


def adversaries() -> list[Case]:
    """Yield pairs of minibatches, and a w with which their times would differ.

    Between scores that lie 708 to 745 apart, a softmax has probabilities for which processors take
    longer, and between others 0; w has the least and the largest floats of 32 bits.
    """
    up, down, none = [0.6, 0.1, -0.3], [-0.6, 0.1, -0.3], [0.0, 0.0, 0.0]
    tiny, lost = [5e-324, 0.6, -1e-310], [1e-200, 0.6, 2.0**-60]
    one, others = [0, 0, 0, 0, 0, 0], [0, 1, 2, 0, 1, 2]

    def rows(score: float) -> list[float]:
        """Return rows of w that give score k = −k·score for x = (0.6, …)."""
        return [value for k in range(3) for value in (-k * score / 0.6, 0.0, 0.0)]

    def pair(
        name: str, sides: list[tuple[list[list[float]], list[Any]]], w: list[float], **more: Any
    ) -> list[Case]:
        model: Case = {
            "kind": "softmax", "n_features": 3, "n_classes": 3, "intercept": False,
            "tolerance": 1.0, "delta": 1.0, "regularization": 0.0,
        }  # fmt: skip
        return [{"pair": name, **model, **more, "w": w, "x": x, "y": y} for x, y in sides]

    usual = [([up] * 6, one), ([none] * 6, one)]
    real = {"n_classes": 0, "kind": "ridge"}
    many = [([up, down] * n, (one + others)[: 2 * n]) for n in (2, 6)]
    return [
        case
        for pairs in (
            pair("subnormal slopes", usual, rows(730.0)),
            pair("slopes next to them", [([up] * 6, others), ([down] * 6, others)], rows(707.0)),
            pair("vanishing slopes", usual, rows(5000.0)),
            pair("the largest w", usual, [3.4e38, -3.4e38, 3.4e38] * 3),
            pair("the smallest w", [([up] * 6, one), ([tiny] * 6, one)], [1e-45] * 9),
            pair("subnormal features", [([up] * 6, one), ([tiny, lost] * 3, one)], rows(1.0)),
            pair("no violated margin", usual, rows(-9.0), kind="hinge"),
            pair("a subnormal decay", usual, rows(50.0), kind="hinge", regularization=1e-310),
            pair("residuals", [([up] * 2, [0.6, 5e-324]), ([up] * 2, [1e12, 3.0])],
                 [1.0, 0.0, 0.0], **real),
            pair("few samples or many", many, rows(1.5)),
        )
        for case in pairs
    ]  # fmt: skip


def agreements() -> list[Case]:
    return [{"terms": text} for text in agreed()]


def successors() -> list[Case]:
    return [{"terms": old, "new": new, "samples": n} for old, new, n in followed()]


def roles() -> list[Case]:
    shares = ((0.0, 0.0), (0.15, 0.05), (0.3, 0.6), (0.9, 0.0), (0.0, 0.9))
    return [{**place, "evaluators": e, "counters": c} for place in PLACES for e, c in shares]


def numbers() -> list[Case]:
    """Yield the languages of the pages, and two that count in other ways."""
    french = {"thousands": "\u202f", "decimal": ",", "plural": "n > 1", "forms": ["one", "other"]}
    polish = {
        "thousands": "\u00a0",
        "decimal": ",",
        "plural": "n == 1 ? 0 : n%10 >= 2 && n%10 <= 4 && (n%100 < 10 || n%100 >= 20) ? 1 : 2",
        "forms": ["one", "few", "many"],
    }
    ours = {file.stem: tomllib.loads(file.read_text()) for file in sorted(LANGUAGES.glob("*.toml"))}
    counts = (*range(23), 100, 101, 102, 112, 122, 12345, 654321, 1234567)
    fractions = (
        0.25,
        1.5,
        2 / 3,
        1e-7,
        0.1 + 0.2,
        1.000005,
        12345.5,
        1234567.8,
        200000.0,
        -0.5,
        1e-6,
        9.999999e-7,
        1.5e-7,
        -2e-15,
        3e20,
        1e21,
        1.25e300,
    )
    return [
        {"language": language, **rules, "number": number}
        for language, rules in (ours | {"fr": french, "pl": polish}).items()
        for number in (*counts, *fractions)
    ]


def numbers_in_words() -> list[Case]:
    """Yield shares that noise has moved far, bounds, and numbers that need exponents elsewhere."""
    estimates = (
        (-0.004, 0.121), (-0.3, 0.1), (0.0, 0.0), (1e-4, 2e-4), (0.081, 0.004), (0.5, 0.05),
        (0.5, 0.0001), (2 / 3, 0.0), (0.29, 0.01), (0.57, 0.0), (0.999, 0.01), (1.02, 0.01),
        (0.9999, 0.03), (0.99999, 0.499), (0.999996, 0.5), (0.982, 0.7), (1.0, 0.1),
    )  # fmt: skip
    others = (0.01183, 0.000217, 1.05e-5, 4.2e-18, 1 / 1024, 2980.957987, 485165195.4, 3.14159e-5)
    shares = [{"number": number, "margin": margin} for number, margin in estimates]
    return [*shares, *({"number": n, "margin": 0.1} for n in others), {"number": None, "margin": 0}]


def choice() -> list[Case]:
    return [
        {"k": k, "t": t, "epsilon": epsilon}
        for k, t in ((2, 1), (6, 1), (20, 1), (1024, 67), (1024, 1), (4096, 4095), (257, 128))
        for epsilon in (1e-6, 0.1, 4 / 3, 4.0, 10.0, 37.5, 40.0)
    ]


def sensing() -> list[Case]:
    rng = np.random.default_rng(40)

    def readings(
        seconds: float, rate: float, labels: Callable[[float], int | None], start: float = 0.0
    ) -> list[list[Any]]:
        """Yield a noisy swing at 2 Hz around gravity, sampled unevenly."""
        times = start + np.arange(0.0, seconds, 1 / rate) + rng.uniform(0, 0.3 / rate)
        values = 9.81 + np.sin(4 * np.pi * times) + rng.normal(0, 0.3, len(times))
        return [
            [t, v, labels(t)]
            for t, v in zip(times.round(4).tolist(), values.round(6).tolist(), strict=True)
        ]

    walk = readings(12, 20, lambda t: 1)
    changing = readings(12, 20, lambda t: [0, 1, None, 2][int(t / 3)])
    gap = readings(3, 20, lambda t: 0) + readings(6, 20, lambda t: 0, start=7.5)
    odd = [[0.0, 1.0, 0], [0.1, None, 0], [0.1, 2.0, 0], [0.05, 9.0, 0], [0.4, 4.0, 0]]
    odd += [[0.5 + i / 4, float(i % 3), 0] for i in range(12)]
    flat = [[i / 8, 0.0, 1] for i in range(20)]
    constant = [[i / 8, 9.81, 1] for i in range(20)]
    spectrum = {"kind": "motion", "rate": 20.0, "window": 64, "first_bin": 0.1, "every": 1.0}
    return [
        {"sensor": sensor, "count": count, "readings": rows}
        for sensor, count, rows in (
            (spectrum, 33, walk),
            ({**spectrum, "window": 50, "first_bin": 1.0, "every": 0.0}, 7, changing[:120]),
            ({**spectrum, "window": 16, "trigger": "label-change"}, 9, changing),
            ({**spectrum, "window": 20}, 11, gap),
            ({**spectrum, "transform": "amplitudes", "scale": 700.0}, 64, walk),
            ({**spectrum, "rate": 8.0, "window": 8}, 8, flat),
            ({**spectrum, "rate": 8.0, "window": 8, "first_bin": 0.0}, 8, constant),
            ({**spectrum, "rate": 4.0, "window": 4, "every": 0.5}, 3, odd),
            ({"kind": "light", "rate": 10.0, "window": 15, "transform": "summary",
              "scale": 20.0, "every": 0.7}, 4, walk[:100]),
            ({"kind": "manual", "transform": "values", "scale": 8.0, "window": 3, "rate": 10.0,
              "every": 0.0, "fields": ["a", "b", "c"]}, 3, walk[:30]),
        )
    ]  # fmt: skip


def promise() -> list[Case]:
    every = [*((*each, []) for each in promised()), *sent_before()]
    return [{"terms": text, "checkins": n, "sent": sent} for text, n, sent in every]


def terms() -> list[Case]:
    return [{"toml": toml} for toml in TASKS]
