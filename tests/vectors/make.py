"""Write the vectors: `python -m tests.vectors.make` in the root of the repository.

Each file has inputs, chosen here, and outputs, computed by the package. A change of an output is
a change of the protocol or of the mechanism: look twice before committing it.
"""

import base64
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from crowdml.models import Hinge, Huber, Model, Ridge, Softmax
from crowdml.privacy import (
    Epsilon,
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
    out = door.sanitize(summary, np.array(case["w"]), _Fixed(case["noise"]))
    event = door.release(case["n_training"], case["n_heldout"])
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


def terms(case: Case) -> Case:
    text = Task.from_toml(case["toml"]).terms.text
    return {"text": text, "sha256": terms_hash(text)}


class _Fixed:
    """Noise from a list, in the order of the releases."""

    def __init__(self, noise: dict[str, list[int]]) -> None:
        self._next = iter(noise.values())

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return np.asarray(values + np.array(next(self._next), dtype=np.int64))


def _model(case: Case) -> Model:
    d, k, intercept = case["n_features"], case["n_classes"], case["intercept"]
    kinds: dict[str, Callable[[], Model]] = {
        "softmax": lambda: Softmax(d, k, intercept),
        "hinge": lambda: Hinge(d, k, intercept),
        "ridge": lambda: Ridge(d, 0, intercept, case["tolerance"]),
        "huber": lambda: Huber(d, 0, intercept, case["tolerance"], case["delta"]),
    }
    return kinds[case["kind"]]()


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
    for kind, classes in (("softmax", 3), ("hinge", 3), ("ridge", 0), ("huber", 0)):
        for intercept in (False, True):
            size = max(classes, 1) * (3 + intercept)
            x = rng.integers(-8, 9, size=(5, 3)) / 32
            y = np.arange(5) % classes if classes else rng.integers(-16, 17, size=5) / 8
            for clip in (2.0, 0.25):
                cases.append({
                    "kind": kind, "n_features": 3, "n_classes": classes, "intercept": intercept,
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


def _terms_cases() -> list[Case]:
    public = LEAST.replace("epsilon = 1.0", "epsilon = inf")
    return [{"toml": LEAST}, {"toml": MOST}, {"toml": public}]


VECTORS: dict[str, tuple[Callable[[], list[Case]], Callable[[Case], Case]]] = {
    "checkins": (_checkin_cases, checkins),
    "checkouts": (_checkout_cases, checkouts),
    "features": (_features_cases, features),
    "gradients": (_gradient_cases, gradients),
    "grid": (_grid_cases, grid),
    "quantisation": (_quantisation_cases, quantisation),
    "sanitised": (_sanitised_cases, sanitised),
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
