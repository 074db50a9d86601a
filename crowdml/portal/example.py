"""What leaves a device: a check-in of made-up samples through the real mechanism."""

from typing import NamedTuple

import msgspec
import numpy as np

from crowdml.device import choose_heldout, features_of, summarize, write_checkin
from crowdml.privacy import SystemChance, bound_features, dequantize
from crowdml.protocol import Terms, decode_gradient
from crowdml.types import Array

__all__ = ["Example", "make_example"]

SHOWN = 6


class Example(NamedTuple):
    """A minibatch and the check-in made from it.

    Args:
        n: Samples in it.
        window: The readings behind its first sample, where the task has a sensor.
        x: The first sample's features.
        y: The first sample's label or target, in words.
        gradient: (true, sent) for the first few numbers of the gradient.
        size: How many numbers the gradient has.
        counts: (what, true, sent) for errors and labels.
        body: The check-in as it is sent.
    """

    n: int
    window: Array | None
    x: Array
    y: str
    gradient: list[tuple[float, float]]
    size: int
    counts: list[tuple[str, int, int]]
    body: str


def make_example(terms: Terms, terms_sha256: str, w: Array, version: int) -> Example:
    """Samples from a fixed generator, so that they stay the same; noise as real as on a device."""
    rng = np.random.default_rng(20150629)
    n = terms.collection.batch
    windows = [_readings(terms, rng, k) for k in range(n)]
    x = np.array([_features(terms, window, rng) for window in windows])
    if terms.n_classes:
        y = np.arange(n, dtype=np.float64) % terms.n_classes
    else:
        y = rng.normal(size=n).round(2)
    chance, event, sanitizer = SystemChance(), terms.event(n), terms.sanitizer()
    heldout = choose_heldout(n, event.n_heldout, chance)
    truth = summarize(terms.make_model(), w, x, y, heldout, sanitizer.clip)
    message = write_checkin(
        sanitizer, truth, event, chance, w=w, version=version, terms_sha256=terms_sha256
    )
    noisy = dequantize(decode_gradient(message.gradient, sanitizer.size), message.grid)
    labels = zip(terms.target.labels, truth.n_labels.tolist(), message.labels, strict=True)
    return Example(
        n=n,
        window=windows[0],
        x=x[0],
        y=terms.target.labels[int(y[0])] if terms.n_classes else f"{y[0]:g}",
        gradient=list(zip(truth.g[:SHOWN].tolist(), noisy[:SHOWN].tolist(), strict=True)),
        size=sanitizer.size,
        counts=[("wrong predictions", truth.n_errors, message.errors), *labels],
        body=msgspec.json.format(msgspec.json.encode(message), indent=2).decode(),
    )


def _readings(terms: Terms, rng: np.random.Generator, k: int) -> Array | None:
    """A window of made-up readings: a level that swings more for each further label."""
    sensor = terms.features.sensor
    if sensor is None or sensor.kind == "manual":
        return None
    time = np.arange(sensor.window) / sensor.rate
    level = {"motion": 9.81, "sound": 0.2, "light": 300.0, "speed": 1.0}[sensor.kind]
    swing = 0.02 + 0.25 * (k % max(terms.n_classes, 2))
    wave = np.sin(2 * np.pi * 0.09 * sensor.rate * time + rng.uniform(0, 2 * np.pi))
    noise = rng.normal(scale=0.02, size=sensor.window)
    return np.asarray(np.abs(level * (1 + swing * wave + noise)))


def _features(terms: Terms, window: Array | None, rng: np.random.Generator) -> Array:
    count = terms.features.count
    if window is None:
        return bound_features(rng.uniform(size=count), count)
    assert terms.features.sensor is not None
    return bound_features(features_of(terms.features.sensor, count, window), count)
