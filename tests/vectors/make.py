"""Write the vectors: `python -m tests.vectors.make` in the root of the repository.

Each file has inputs, chosen here, and outputs, computed by the package. A change of an output is
a change of the protocol or of the mechanism: look twice before committing it.
"""

import base64
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from crowdml.device.agreement import Agreement
from crowdml.device.sensing import Sensing
from crowdml.device.store import Identity
from crowdml.errors import LimitReached
from crowdml.models import MODELS, Model
from crowdml.privacy import (
    CheckinRelease,
    Epsilon,
    LaplaceRelease,
    Ledger,
    Limits,
    Part,
    Sanitizer,
    Summary,
    bound_features,
    choose_grid,
    quantize,
    sensitivity_steps,
)
from crowdml.protocol import (
    Checkin,
    Checkout,
    Sensor,
    State,
    Task,
    encode_gradient,
    encode_parameters,
    terms_hash,
)
from crowdml.types import Ints

HERE = Path(__file__).parent

Case = dict[str, Any]


def grid(case: Case) -> Case:
    k = choose_grid(case["clip"], case["largest"], case["n"], float(case["epsilon"]))
    return {"grid": k}


def sensitivity(case: Case) -> Case:
    return {"steps": sensitivity_steps(case["clip"], case["n"], case["grid"], case["size"])}


def quantisation(case: Case) -> Case:
    return {"integers": quantize(np.array(case["values"]), case["grid"]).tolist()}


def features(case: Case) -> Case:
    return {"bounded": bound_features(case["x"], len(case["x"])).tolist()}


def gradients(case: Case) -> Case:
    model = _model(case)
    w, x, y = (np.array(case[name], dtype=float) for name in "wxy")
    return {
        "predictions": model.predict(w, x).tolist(),
        "mistakes": model.mistakes(w, x, y).tolist(),
        "gradients": model.gradients(w, x, y).tolist(),
        "mean": model.mean_gradient(w, x, y, case["clip"]).tolist(),
    }


def sanitised(case: Case) -> Case:
    levels = Epsilon(*(float(case["epsilon"][name]) for name in ("gradient", "errors", "labels")))
    door = Sanitizer(levels, case["clip"], len(case["g"]), case["regularization"], case["radius"])
    summary = Summary(
        g=np.array(case["g"]),
        n_errors=case["n_errors"],
        n_labels=np.array(case["n_labels"], dtype=np.int64),
        n_training=case["n_training"],
        n_heldout=case["n_heldout"],
    )
    event = door.event(case["n_training"], case["n_heldout"])
    out = door.sanitize(summary, np.array(case["w"]), event, _Given(case["noise"]))
    return {
        "sensitivity": {release.what: release.sensitivity for release in event.releases},
        "cost": _number(event.per_sample),
        "grid": out.grid,
        "gradient": out.gradient.tolist(),
        "errors": out.n_errors,
        "labels": out.n_labels.tolist(),
    }


def checkins(case: Case) -> Case:
    gradient = encode_gradient(np.array(case["gradient"], dtype=np.int64))
    fields = {**case, "labels": tuple(case["labels"]), "gradient": gradient}
    return {"json": msgspec.json.encode(Checkin(**fields)).decode()}


def checkouts(case: Case) -> Case:
    parameters = encode_parameters(np.array(case["parameters"]))
    message = Checkout(case["version"], State(case["state"]), parameters)
    return {
        "json": msgspec.json.encode(message).decode(),
        "base64": base64.b64encode(parameters).decode(),
    }


def ledger(case: Case) -> Case:
    account = Ledger.of(map(_event, case["events"]))
    limits = Limits(case["limits"]["per_sample"], case["limits"]["per_device"])
    try:
        account.require(_event(case["next"]), limits)
    except LimitReached:
        allowed = False
    else:
        allowed = True
    return {
        "per_sample": _number(account.per_sample),
        "per_device": _number(account.per_device),
        "whole_device": _number(account.whole_device),
        "allowed": allowed,
    }


def letters(case: Case) -> Case:
    """The device's own way from a minibatch to a letter, with the randomness given."""
    w, x, y = (np.array(case[name], dtype=float) for name in "wxy")
    limits = Limits(math.inf, math.inf)
    agreed = Agreement(Identity("", "", "", "", case["terms"], limits))
    given = _Given(case["noise"], case["draws"], case["id"])
    written = agreed.write(case["version"], w, x, y, Ledger(), given)
    assert written is not None
    letter, event = written
    return {"json": letter.body.decode(), "cost": _number(event.per_sample)}


def sensing(case: Case) -> Case:
    pipeline = Sensing(Sensor(**case["sensor"]), case["count"])
    taken = []
    for time, reading, label in case["readings"]:
        taken += pipeline.push(time, math.nan if reading is None else reading, label)
    return {
        "taken": [
            {
                "time": sample.time,
                "window": sample.window.tolist(),
                "x": sample.x.tolist(),
                "y": sample.y,
            }
            for sample in taken
        ]
    }


def terms(case: Case) -> Case:
    text = Task.from_toml(case["toml"]).terms.text
    return {"text": text, "sha256": terms_hash(text)}


class _Given:
    """Chance from lists: noise in the order of the releases, then indices, and an id."""

    def __init__(
        self, noise: dict[str, list[int]], draws: Sequence[int] = (), token: str = ""
    ) -> None:
        self._next = iter(noise.values())
        self._draws = iter(draws)
        self._token = token

    def below(self, n: int) -> int:
        return next(self._draws)

    def token(self) -> str:
        return self._token

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return np.asarray(values + np.array(next(self._next), dtype=np.int64))


def _event(event: Case) -> CheckinRelease:
    releases = tuple(
        LaplaceRelease(r["what"], Part(r["part"]), r["sensitivity"], float(r["epsilon"]))
        for r in event["releases"]
    )
    return CheckinRelease(event["n_training"], event["n_heldout"], releases)


def _model(case: Case) -> Model:
    settings = {name: case[name] for name in ("tolerance", "delta")}
    return MODELS[case["kind"]].model(
        case["n_features"], case["n_classes"], case["intercept"], **settings
    )


def _number(value: float) -> float | str:
    """JSON has no infinity."""
    return "inf" if math.isinf(value) else value


def _grid_cases() -> list[Case]:
    return [
        {"clip": clip, "largest": largest, "n": n, "epsilon": epsilon}
        for clip, largest in ((2.0, 2.0), (4.0, 14.0), (0.3, 1e6), (1.0, 1.0))
        for n in (1, 20, 997)
        for epsilon in (0.01, 0.9, 1.0, 64.0, 5000.0, "inf")
    ]


def _sensitivity_cases() -> list[Case]:
    return [
        {"clip": clip, "n": n, "grid": k, "size": size}
        for clip in (2.0, 0.1, 4.0)
        for n, k, size in ((1, -20, 6), (20, -23, 500), (3, -26, 50), (997, -30, 7850), (4, 0, 1))
    ]


def _quantisation_cases() -> list[Case]:
    halves = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.0, -0.0]
    return [
        {"values": halves, "grid": 0},
        {"values": [v / 8 for v in halves], "grid": -3},
        {"values": [0.1, -0.1, 1 / 3, 2.0, -2.0, 1e-9, 0.7071067811865476], "grid": -23},
        {"values": [0.1, -0.1, 1 / 3, 2.0, -2.0, 1e-9, 0.7071067811865476], "grid": -28},
        {"values": [100.0, -37.0, 4.0, 12.0, 20.0], "grid": 3},
    ]


def _features_cases() -> list[Case]:
    return [
        {"x": x}
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
    ]


def _gradient_cases() -> list[Case]:
    rng = np.random.default_rng(20)
    cases = []
    for name, kind in MODELS.items():
        classes = 3 if kind.classifier else 0
        for intercept in (False, True):
            size = max(classes, 1) * (3 + intercept)
            x = rng.integers(-8, 9, size=(5, 3)) / 32
            y = np.arange(5) % classes if classes else rng.integers(-16, 17, size=5) / 8
            for clip in (2.0, 0.25):
                cases.append({
                    "kind": name, "n_features": 3, "n_classes": classes, "intercept": intercept,
                    "tolerance": 0.5, "delta": 0.75, "clip": clip,
                    "w": (rng.integers(-64, 65, size=size) / 16).tolist(),
                    "x": x.tolist(), "y": y.tolist(),
                })  # fmt: skip
    return cases


def _sanitised_cases() -> list[Case]:
    noise = {"gradient": [1048577, -3, 0, -2000000], "errors": [-2], "labels": [4, -1]}
    case: Case = {
        "epsilon": {"gradient": 0.9, "errors": 0.05, "labels": 0.05},
        "clip": 2.0, "regularization": 0.0, "radius": 1000.0, "g": [0.3, -0.7, 0.0, 1e-7],
        "w": [0.5, -0.25, 3.0, 0.125], "n_errors": 3, "n_labels": [12, 8], "n_training": 20,
        "n_heldout": 0, "noise": noise,
    }  # fmt: skip
    none = {"gradient": "inf", "errors": "inf", "labels": "inf"}
    extreme = {"gradient": [2**33, -(2**33), 0, 0], "errors": [0], "labels": [0, 0]}
    return [
        case,
        {**case, "n_training": 16, "n_heldout": 4},
        {**case, "n_training": 57},
        {**case, "regularization": 0.01, "clip": 1.5},
        {**case, "regularization": 0.1, "radius": 50.0, "n_training": 1},
        {**case, "noise": extreme},
        {**case, "epsilon": none, "noise": {}},
        {
            **case,
            "epsilon": {"gradient": 2.0, "errors": 0.1, "labels": 0.0},
            "n_labels": [],
            "noise": {"gradient": [5, 4, 3, 2], "errors": [1]},
        },
    ]


def _checkin_cases() -> list[Case]:
    return [
        {
            "id": "Zm9yIGEgdGVzdCBvbmx5", "version": 41, "terms": "0123456789abcdef" * 4,
            "samples": 20, "heldout": 4, "errors": -3, "labels": [12, -1, 9], "grid": -23,
            "gradient": [0, 1, -1, 2147483647, -2147483647, 256],
        },
        {
            "id": "abcdefghij-_KLMN", "version": 0, "terms": "f" * 64, "samples": 1, "heldout": 0,
            "errors": 0, "labels": [], "grid": 3, "gradient": [-5],
        },
    ]  # fmt: skip


def _checkout_cases() -> list[Case]:
    return [
        {"version": 0, "state": "running", "parameters": [0.0, 0.0]},
        {"version": 41, "state": "paused", "parameters": [1.0, -2.0, 0.1, 1e-40, 3e38]},
        {"version": 9007199254740991, "state": "reached", "parameters": [-0.5]},
    ]


def _ledger_cases() -> list[Case]:
    def event(g: float | str, e: float | str, y: float | str, n: int = 20, h: int = 0) -> Case:
        on = "heldout" if h else "training"
        return {
            "n_training": n - h,
            "n_heldout": h,
            "releases": [
                {"what": "gradient", "part": "training", "sensitivity": 9, "epsilon": g},
                {"what": "errors", "part": on, "sensitivity": 1, "epsilon": e},
                {"what": "labels", "part": "all", "sensitivity": 2, "epsilon": y},
            ],
        }

    tenth, small = event(0.09, 0.005, 0.005), event(0.1, 0.2, 0.3, n=7)
    aside, open_ = event(0.5, 0.25, 0.125, h=4), event("inf", "inf", "inf")
    return [
        {"events": events, "next": following, "limits": {"per_sample": one, "per_device": all_}}
        for events, following, one, all_ in (
            ([], tenth, 0.1, 0.1),
            ([], tenth, 0.0999999, 1.0),
            ([tenth] * 9, tenth, 0.1, 1.0),
            ([tenth] * 10, tenth, 0.1, 1.0),
            ([tenth] * 9, tenth, 0.1, 1.0 - 0.9e-9),
            ([tenth] * 9, tenth, 0.1, 1.0 - 1.1e-9),
            ([tenth, small, aside] * 7, aside, 1.0, 100.0),
            ([small] * 3 + [tenth] * 5, small, 0.6, 2.9),
            ([aside], aside, 0.625, 1.25),
            ([aside], aside, 0.62, 1.25),
            ([], open_, 1e308, 1e308),
            ([open_, tenth], tenth, 1.0, 100.0),
        )
    ]


def _letter_cases() -> list[Case]:
    rng = np.random.default_rng(30)
    cases = []
    for name, kind in MODELS.items():
        classes = 3 if kind.classifier else 0
        for heldout, intercept, penalty in ((0.0, False, 0.0), (0.3, True, 0.01)):
            task = {
                "task": "vectors", "sensors": "none",
                "features": {"count": 5, "description": ""},
                "target": {"labels": [f"label {k}" for k in range(classes)], "description": ""},
                "model": {
                    "kind": name, "clip": 0.8, "regularization": penalty, "radius": 10.0,
                    "intercept": intercept, "delta": 0.75, "tolerance": 0.5,
                },
                "privacy": {
                    "epsilon": 1.0, "epsilon_g": 0.9, "epsilon_e": 0.05,
                    "epsilon_y": 0.05 if classes else 0.0,
                },
                "collection": {"batch": 7, "buffer": 30, "heldout": heldout},
            }  # fmt: skip
            n, size = 11, max(classes, 1) * (5 + intercept)
            noise = {"gradient": size, "errors": 1} | ({"labels": classes} if classes else {})
            x = rng.normal(size=(n, 5))
            cases.append({
                "terms": json.dumps(task), "version": int(rng.integers(1000)),
                "id": "abcdefghijklmnop-_0123", "w": rng.normal(size=size).round(6).tolist(),
                "x": (x / np.abs(x).sum(axis=1, keepdims=True)).round(9).tolist(),
                "y": (np.arange(n) % 3 if classes else rng.normal(size=n).round(3)).tolist(),
                "draws": [int(rng.integers(n - i)) for i in range(int(heldout * n))],
                "noise": {
                    what: rng.integers(-(2**21), 2**21, size=count).tolist()
                    for what, count in noise.items()
                },
            })  # fmt: skip
    return cases


def _sensing_cases() -> list[Case]:
    rng = np.random.default_rng(40)

    def readings(
        seconds: float, rate: float, labels: Callable[[float], int | None], start: float = 0.0
    ) -> list[list[Any]]:
        """A noisy swing at 2 Hz around gravity, sampled unevenly."""
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


LEAST = """\
name = "activity"
title = "Activity"
objective = "Recognise what people do."
sensors = "Accelerometer at 20 Hz."

[features]
count = 64

[target]
labels = ["still", "on foot", "in a vehicle"]

[model]
kind = "softmax"

[privacy]
epsilon = 1.0

[collection]
batch = 20
buffer = 100
"""

MOST = """\
name = "noise-map-2"
title = "Noise map"
objective = "Predict how loud a street is."
sensors = "Microphone: loudness only, ‖x‖₁ ≤ 1."

[features]
count = 8
description = "Third-octave levels, scaled."

[target]
description = "dB(A) above 40"

[model]
kind = "huber"
clip = 0.5
regularization = 0.001
radius = 50.0
intercept = true
delta = 0.75
tolerance = 3.0

[privacy]
epsilon = 2.5
epsilon_e = 0.25

[collection]
batch = 10
buffer = 40
heldout = 0.2

[optimizer]
kind = "adagrad"
c = 0.3

[stop]
error = 0.1

[enrolment]
mode = "invite"
"""


SENSED = LEAST.replace(
    "[target]",
    """\
[features.sensor]
kind = "motion"
rate = 20
window = 64
first_bin = 0.1
trigger = "label-change"

[target]""",
)

ENTERED = LEAST.replace(
    "count = 64",
    """\
count = 2
sensor = { kind = "manual", transform = "values", fields = ["weight", "height"], scale = 200 }""",
)


def _terms_cases() -> list[Case]:
    public = LEAST.replace("epsilon = 1.0", "epsilon = inf")
    return [{"toml": toml} for toml in (LEAST, MOST, public, SENSED, ENTERED)]


VECTORS: dict[str, tuple[Callable[[], list[Case]], Callable[[Case], Case]]] = {
    "checkins": (_checkin_cases, checkins),
    "checkouts": (_checkout_cases, checkouts),
    "features": (_features_cases, features),
    "gradients": (_gradient_cases, gradients),
    "grid": (_grid_cases, grid),
    "ledger": (_ledger_cases, ledger),
    "letters": (_letter_cases, letters),
    "quantisation": (_quantisation_cases, quantisation),
    "sanitised": (_sanitised_cases, sanitised),
    "sensing": (_sensing_cases, sensing),
    "sensitivity": (_sensitivity_cases, sensitivity),
    "terms": (_terms_cases, terms),
}


def main() -> None:
    for name, (cases, compute) in VECTORS.items():
        document = [{"input": case, "output": compute(case)} for case in cases()]
        lines = ",\n".join(json.dumps(pair, ensure_ascii=False) for pair in document)
        (HERE / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
