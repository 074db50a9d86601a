"""Make worked examples: check-ins of made-up samples through the real mechanism."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from crowdml.device import features_of, write_checkin
from crowdml.models import Minibatch
from crowdml.privacy import (
    CheckinKey,
    Role,
    ShownPayload,
    SystemChance,
    WatchedMinibatch,
    bound_features,
)
from crowdml.protocol import Terms
from crowdml.types import Array

MOST_TRIED = 1000
LARGEST_SAMPLES, LARGEST_CODEBOOK = 1_000_000, 50_000_000
"""The most numbers that are computed for an example."""


class ExampleMessage(NamedTuple):
    """Hold one check-in: what stays on the device, what is sent instead, and the message."""

    shown: ShownPayload
    body: str


class Example(NamedTuple):
    """Hold n made-up samples, and the message that a device would send about them in each role.

    Args:
        window: The readings behind the first sample, where the task has a sensor.
        x: The first sample's features.
        y: The first sample's label or target, in words.
    """

    n: int
    window: Array | None
    x: Array
    y: str
    messages: list[ExampleMessage]


def is_quick(terms: Terms) -> bool:
    """Return whether an example takes only a fraction of a second to make."""
    sensor, size = terms.features.sensor, terms.make_model().size
    samples = terms.collection.batch * (size + (sensor.window if sensor else 0))
    return samples <= LARGEST_SAMPLES and terms.mechanism().operations <= LARGEST_CODEBOOK


def make_example(terms: Terms, terms_sha256: str, w: Array, version: int) -> Example:
    """Make an example: its samples are always the same, its randomness is real, as on a device."""
    rng = np.random.default_rng(20150629)
    n = terms.collection.batch
    windows = [_readings(terms, rng, k) for k in range(n)]
    x = np.array([_features(terms, window, rng) for window in windows])
    if terms.n_classes:
        y = np.arange(n, dtype=np.float64) % terms.n_classes
    else:
        y = (terms.target.scale * rng.normal(size=n)).round(2)
    minibatch = Minibatch(terms.make_model(), w, x, y)
    return Example(
        n=n,
        window=windows[0],
        x=x[0],
        y=terms.target.labels[int(y[0])] if terms.n_classes else f"{y[0]:g}",
        messages=[_message(terms, minibatch, key, version) for key in _keys(terms, terms_sha256)],
    )


def _message(terms: Terms, minibatch: Minibatch, key: CheckinKey, version: int) -> ExampleMessage:
    """Make the message of a check-in with this key, by the task's own mechanism."""
    mechanism, watched = terms.mechanism(), WatchedMinibatch(minibatch)
    event = mechanism.event(watched.n_samples, key)
    sent = write_checkin(mechanism, watched, event, key, SystemChance(), version)
    body = msgspec.json.format(msgspec.json.encode(sent), indent=2).decode()
    return ExampleMessage(mechanism.show(sent, watched, key, terms.target.labels), body)


def _keys(terms: Terms, terms_sha256: str) -> Iterator[CheckinKey]:
    """Return the keys of made-up devices, one for each role of a check-in."""
    roles, found = [role for role in Role if terms.collection.roles.share(role)], set[Role]()
    for k in range(MOST_TRIED):
        key = CheckinKey(terms_sha256, f"example-{k}", 1)
        role = terms.collection.roles.role_of(key)
        if role not in found:
            found.add(role)
            yield key
        if len(found) == len(roles):
            return


def _readings(terms: Terms, rng: np.random.Generator, k: int) -> Array | None:
    """Make up a window of readings: a level that swings more for each further label."""
    sensor = terms.features.sensor
    if sensor is None or sensor.registered.typed_in:
        return None
    time = np.arange(sensor.window) / sensor.rate
    swing = 0.02 + 0.25 * (k % max(terms.n_classes, 2))
    wave = np.sin(2 * np.pi * 0.09 * sensor.rate * time + rng.uniform(0, 2 * np.pi))
    noise = rng.normal(scale=0.02, size=sensor.window)
    return np.asarray(np.abs(sensor.registered.typical_reading * (1 + swing * wave + noise)))


def _features(terms: Terms, window: Array | None, rng: np.random.Generator) -> Array:
    count, sensor = terms.features.count, terms.features.sensor
    if sensor is None or window is None:
        x = rng.uniform(size=count)
    else:
        x = features_of(sensor, count, window)
    return bound_features(x, count, terms.privacy.norm)
