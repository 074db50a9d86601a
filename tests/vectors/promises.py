"""Make terms for the vectors of promises: every mechanism, sensor, overlap, K, limit and edge."""

import json
from collections.abc import Iterator
from typing import Any

from crowdml.protocol import Task
from tests.vectors.tasks import LEAST

ANSWERS = '["still", "on foot", "in a vehicle"]'
SHARES = (
    (0.0, 0.0), (0.2, 0.0), (0.0, 0.05), (1 / 3, 0.1), (0.123, 0.0457), (0.5, 0.4), (0.0004, 0.0),
    (1e-7, 0.05), (0.0003, 0.8997),
)  # fmt: skip
TYPED = 'kind = "manual", transform = "values", fields = ["weight", "height"], scale = 200'


def sent_before() -> Iterator[tuple[str, int | None, list[dict[str, float]]]]:
    """Yield terms, a number of check-ins, and what earlier check-ins have cost."""
    half, dear = {"epsilon": 0.5}, {"epsilon": 5.0}
    concentrated = {"rho": 0.02, "delta": 1e-6}
    yield _terms("laplace", 0.5), 1, [half] * 5
    yield _terms("laplace", 0.1), 0, [dear]
    yield _terms("direction", 4.0, checkins=10), 1, [{"epsilon": 0.4}] * 5
    yield _terms("direction", 4.0, checkins=4), None, [dear]
    yield _terms("gaussian", 0.5), 20, [concentrated] * 3
    yield _terms("direction", 15.0), None, [dear, dear]


def promised() -> Iterator[tuple[str, int | None]]:
    """Yield terms, and the number of check-ins that the participant allows, if any is given."""
    for epsilon in (
        0.05,
        0.1,
        0.5,
        1.0,
        2.0,
        4.0,
        4.0004,
        8.0,
        10.0,
        15.0,
        20.0,
        20.004,
        25.0,
        40.0,
    ):
        yield _terms("direction", epsilon), None
    for checkins in (2, 4, 10, 1000):
        yield _terms("direction", 4.0, checkins=checkins), None
        yield _terms("direction", 4.0, checkins=checkins), 1
        yield _terms("direction", 60.0, checkins=checkins), 2
    yield _terms("direction", 4.0, checkins=4), 3
    yield _terms("direction", 4.0, checkins=4), 9
    for shares in SHARES:
        evaluators, counters = shares
        yield _terms("direction", 4.0, evaluators=evaluators, counters=counters), None
    for labels in (2, 10, 40):
        for epsilon in (1.0, 4.0):
            yield _terms("direction", epsilon, labels=labels), None
    yield _terms("direction", 4.0, labels=0), None
    yield _terms("direction", 4.0, labels=0, batch=1, evaluators=0.1), None
    for kind in ("motion", "sound", "light", "speed"):
        for every in (1.0, 30.0):
            yield _terms("direction", 4.0, sensor=_sensor(kind, every)), None
    yield _terms("direction", 4.0, sensor=TYPED), None
    for mechanism in ("laplace", "gaussian"):
        for level in (0.005, 0.05, 0.2, 1.0, 1.5, 5.0, 20.0, 20.1, 25.0, 1000.0, "inf"):
            yield _terms(mechanism, level), None
        for allowed in (0, 1, 2, 7, 100, 10_000, 12_345):
            yield _terms(mechanism, 0.5), allowed
            yield _terms(mechanism, 25.0), allowed
        yield _with_checkins(mechanism, 0.5, 1000), None
        yield _with_checkins(mechanism, 0.5, 3), 2
        for every in (0.05, 0.5, 1.0, 3.0, 3.2, 30.0):
            for epsilon in (0.1, 1.0, 5.0):
                yield _terms(mechanism, epsilon, sensor=_sensor("motion", every)), None
        yield _terms(mechanism, 5.0, sensor=_sensor("motion", 1.0, "label-change")), None
        yield _terms(mechanism, 0.5, sensor=_sensor("light", 0.0), batch=1), 3
        yield _terms(mechanism, 1.0, sensor=TYPED), None
        yield _terms(mechanism, 1.0, heldout=0.5), None
        yield _terms(mechanism, 1.0, labels=0), None
        yield _terms(mechanism, "inf", labels=0, sensor=_sensor("motion", 1.0)), None
        for labels in (2, 40):
            yield _terms(mechanism, 1.0, labels=labels), None
    for share in (0.74, 0.76):
        yield _with_counts(share), None


def _with_checkins(mechanism: str, epsilon: float, checkins: int) -> str:
    """Return terms with noise that name a number of check-ins, which no task file does."""
    document = json.loads(_terms(mechanism, epsilon))
    document["collection"]["checkins"] = checkins
    return json.dumps(document)


def _with_counts(share: float) -> str:
    """Return terms in which counts have this share of ρ."""
    document = json.loads(_terms("gaussian", 1.0))
    privacy = document["privacy"]
    total = privacy["rho_g"] + privacy["rho_e"] + privacy["rho_y"]
    privacy["rho_e"] = share * total - privacy["rho_y"]
    privacy["rho_g"] = (1 - share) * total
    return json.dumps(document)


def _sensor(kind: str, every: float, trigger: str = "always") -> str:
    return f'kind = "{kind}", every = {every}, trigger = "{trigger}"'


def _terms(
    mechanism: str,
    epsilon: float | str,
    labels: int = 3,
    sensor: str = "",
    batch: int = 20,
    **collection: Any,
) -> str:
    names = ANSWERS if labels == 3 else str([f"label {k}" for k in range(labels)])
    text = LEAST.replace('mechanism = "laplace"\nepsilon = 1.0', f"epsilon = {epsilon}")
    text = text.replace("[privacy]", f'[privacy]\nmechanism = "{mechanism}"')
    text = text.replace("batch = 20\nbuffer = 100", f"batch = {batch}\nbuffer = 100")
    text = text.replace("[stop]", "".join(f"{k} = {v}\n" for k, v in collection.items()) + "[stop]")
    text = text.replace(f"labels = {ANSWERS}", f"labels = {names}" if labels else "scale = 2.0")
    if not labels:
        text = text.replace('kind = "softmax"', 'kind = "ridge"\ntolerance = 0.25')
    if sensor:
        count = 2 if sensor is TYPED else 33
        text = text.replace("count = 64", f"count = {count}\nsensor = {{ {sensor} }}")
    return Task.from_toml(text).terms.text
