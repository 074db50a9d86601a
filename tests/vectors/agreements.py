"""Make terms for the vectors of agreements: what is rejected, usual limits, and later terms."""

import json
from collections.abc import Iterator
from typing import Any

MANUAL = {
    "kind": "manual", "rate": 20.0, "window": 64, "transform": "values", "first_bin": 1.0,
    "scale": 200.0, "every": 30.0, "trigger": "always", "fields": ["a", "b", "c"],
}  # fmt: skip
MOTION = {**MANUAL, "kind": "motion", "transform": "spectrum", "fields": [], "every": 1.0}

PRIVACY: dict[str, dict[str, Any]] = {
    "direction": {"mechanism": "direction", "epsilon": 4.0, "directions": 256, "closest": 19},
    "laplace": {
        "mechanism": "laplace", "epsilon": 1.0, "epsilon_g": 0.9, "epsilon_e": 0.05,
        "epsilon_y": 0.05,
    },
    "gaussian": {
        "mechanism": "gaussian", "epsilon": 1.0, "delta": 1e-6, "rho_g": 0.02, "rho_e": 0.001,
        "rho_y": 0.001,
    },
}  # fmt: skip

EVERYWHERE: tuple[dict[str, Any], ...] = (
    {},
    {"model.clip": None},
    {"model.clip": 0.5},
    {"model.clip": 0.0},
    {"model.clip": None, "model.kind": "ridge", "target.labels": []},
    {"model.kind": "ridge"},
    {"model.kind": "huber", "target.labels": []},
    {"model.kind": "forest"},
    {"model.regularization": -0.1},
    {"model.delta": 0.0},
    {"features.count": 0},
    {"features.count": 400_000},
    {"features.sensor": MOTION},
    {"features.sensor": MANUAL},
    {"features.sensor": {**MOTION, "window": 2}},
    {"features.sensor": {**MOTION, "every": -1.0}},
    {"features.names": ["a", "b"]},
    {"features.names": ["a", "b", "b"]},
    {"features.missing": "center"},
    {"target.labels": ["a"]},
    {"target.labels": ["a", "a", "b"]},
    {"target.scale": 0.0},
    {"collection.batch": 0},
    {"collection.batch": 31},
    {"collection.checkins": None},
    {"collection.checkins": 0},
    {"collection.checkins": 3},
    {"collection.checkins": 1000},
    {"collection.checkins": 1_000_001},
    {"collection.heldout": 0.2},
    {"collection.heldout": 0.6},
    {"collection.evaluators": 0.1},
    {"collection.counters": 0.1},
    {"privacy.epsilon": "inf"},
    {"privacy.epsilon": 0.0},
    {"privacy.epsilon": 0.5},
    {"privacy.epsilon": 19.9},
    {"privacy.epsilon": 39.0},
    {"privacy.epsilon": 41.0},
    {"privacy.epsilon": 2e6},
    {"privacy.mechanism": "none"},
)
"""Changes of terms, for each mechanism; some of the changed terms can never be agreed to."""

OWN: dict[str, tuple[dict[str, Any], ...]] = {
    "direction": (
        {"privacy.closest": 256},
        {"privacy.closest": 0},
        {"privacy.directions": 4097},
        {"privacy.delta": 1e-6},
        {"collection.evaluators": 0.5, "collection.counters": 0.41},
        {"collection.counters": 0.1, "model.kind": "ridge", "target.labels": []},
        {"collection.evaluators": 0.95},
    ),
    "laplace": (
        {"privacy.epsilon_y": 0.0},
        {"privacy.epsilon_g": "inf"},
        {"privacy.epsilon_g": "inf", "privacy.epsilon": "inf"},
        {"privacy.epsilon_e": 0.0},
        {"privacy.delta": 1e-6},
        {"privacy.epsilon": 100.0, "privacy.epsilon_g": 90.0},
        {"model.kind": "ridge", "target.labels": [], "privacy.epsilon_y": 0.0},
    ),
    "gaussian": (
        {"privacy.rho_y": 0.0},
        {"privacy.delta": 0.0},
        {"privacy.delta": 0.5},
        {"privacy.rho_g": 2.0},
        {"privacy.epsilon": 60.0, "privacy.rho_g": 20.0},
        {"model.kind": "ridge", "target.labels": [], "privacy.rho_y": 0.0},
    ),
}


def agreed() -> Iterator[str]:
    for mechanism in PRIVACY:
        for changes in (*EVERYWHERE, *OWN[mechanism]):
            yield _terms(mechanism, changes)


def followed() -> Iterator[tuple[str, str, int]]:
    """Yield terms, the terms that a server has now, and how many samples wait."""
    for mechanism in PRIVACY:
        for changes in (
            {"purpose": "another"},
            {"features.description": "in other words"},
            {"features.length": 2.0},
            {"features.names": ["a", "b", "c"]},
            {"target.labels": ["a", "c", "b"]},
            {"target.scale": 2.0},
            {"collection.batch": 8},
        ):
            for samples in (0, 1):
                yield _terms(mechanism, {}), _terms(mechanism, changes), samples
    for first, second in (("direction", "laplace"), ("gaussian", "direction")):
        yield _terms(first, {}), _terms(second, {}), 1
    loud, quiet = (_terms("direction", {"privacy.epsilon": epsilon}) for epsilon in (39.0, 4.0))
    heard = _terms("laplace", {"privacy.epsilon": 100.0, "privacy.epsilon_g": 90.0})
    for old, new in ((quiet, loud), (loud, loud), (loud, quiet), (quiet, heard), (heard, loud)):
        yield old, new, 0
    # Private by the sample, and not by the reading of a sensor that is in many samples.
    costs = {"privacy.epsilon": 2.0, "privacy.epsilon_g": 1.9}
    often = {"features.sensor": MOTION, **costs}
    seldom = {"features.sensor": {**MOTION, "every": 30.0}, **costs}
    often["features.sensor"] = {**MOTION, "every": 0.1}
    yield _terms("laplace", seldom), _terms("laplace", often), 0


def _terms(mechanism: str, changes: dict[str, Any]) -> str:
    directed = mechanism == "direction"
    terms: dict[str, Any] = {
        "task": "vectors", "owner": "o", "contact": "c", "purpose": "p", "sensors": "none",
        "features": {
            "count": 3, "description": "", "sensor": None, "names": [], "center": [], "scale": [],
            "length": 1.0, "missing": "reject",
        },
        "target": {"labels": ["a", "b", "c"], "description": "", "scale": 1.0, "unit": ""},
        "model": {
            "kind": "softmax", "clip": None if directed else 0.8, "regularization": 0.0,
            "radius": 10.0, "intercept": False, "delta": 0.75, "tolerance": 0.5, "start": None,
        },
        "privacy": dict(PRIVACY[mechanism]),
        "collection": {
            "batch": 7, "buffer": 30, "heldout": 0.0, "checkins": 1 if directed else None,
            "evaluators": 0.0, "counters": 0.0,
        },
    }  # fmt: skip
    for path, value in changes.items():
        *tables, name = path.split(".")
        place = terms
        for table in tables:
            place = place[table]
        place[name] = value
    return json.dumps(terms)
