"""Measure Section IV: noise in gradients, bytes sent, updates missed during a delay."""

import msgspec
import numpy as np

from crowdml.device import write_checkin
from crowdml.models import Minibatch, Model
from crowdml.privacy import CheckinKey, SystemChance
from crowdml.protocol import Checkout, State, encode_parameters
from crowdml.simulation import (
    Arrivals,
    Dataset,
    Learning,
    make_schedule,
    make_stand_in,
    model_for,
    uniform_delay,
)

BATCHES = (1, 2, 5, 10, 20, 50, 100)
DELAYS = (10.0, 30.0, 100.0, 300.0, 1000.0)
EPSILON = 10.0
LEARNING = Learning(mechanism="laplace", epsilon=EPSILON, c=1.0)
UNUSED_KEY = CheckinKey("0" * 64, "", 1)
L1 = 1
COORDINATE_BYTES = 4
TICKS = 300_000


class Measured(msgspec.Struct, frozen=True):
    """Hold a measured quantity and the value of the paper's formula."""

    x: float
    measured: float
    predicted: float


class Analysis(msgspec.Struct, frozen=True):
    """Hold everything that was measured for one model.

    Args:
        n_features: D.
        n_classes: C.
        noise: E‖ĝ‖² against b.
        bytes_per_sample: Check-out and check-in against b.
        raw_bytes: What a sample itself would take.
        staleness: Updates missed, against the longest delay, for each b.
    """

    n_features: int
    n_classes: int
    noise: tuple[Measured, ...]
    bytes_per_sample: tuple[Measured, ...]
    raw_bytes: int
    staleness: dict[str, tuple[Measured, ...]]


def analyse(data: Dataset, devices: int = 1000, repeats: int = 20, seed: int = 0) -> Analysis:
    """Measure all three on a data set, with the device's own mechanism and messages."""
    rng = np.random.default_rng(seed)
    data, model = data.bounded(L1), model_for(LEARNING, data)
    return Analysis(
        n_features=model.n_features,
        n_classes=len(data.labels),
        noise=tuple(gradient_noise(model, data, b, repeats, rng) for b in BATCHES),
        bytes_per_sample=tuple(bytes_sent(model, data, b) for b in BATCHES),
        raw_bytes=COORDINATE_BYTES * (model.n_features + 1),
        staleness={
            f"b = {b}": tuple(staleness(devices, b, delay, rng) for delay in DELAYS)
            for b in (1, 20)
        },
    )


def gradient_noise(
    model: Model, data: Dataset, batch: int, repeats: int, rng: np.random.Generator
) -> Measured:
    """Measure E‖ĝ‖² beside the paper's E‖g‖²/b + 32·C·D/(bε)², with exact noise, at w = 0.

    The formula leaves out (1 − 1/b)·‖E g‖², which is small beside the noise of a small batch. Each
    of the C·D parameters gets Laplace noise of scale 4/(bε), whose variance is 32/(bε)²; so the
    formula's D must be the number of parameters.

    Paper: Section IV-A, Eq. (13).
    """
    mechanism = make_stand_in(LEARNING, model, batch).mechanism
    w, chance, event = np.zeros(model.size), SystemChance(), mechanism.event(batch, UNUSED_KEY)
    sizes = []
    for _ in range(repeats):
        rows = rng.choice(len(data.y_train), batch, replace=False)
        minibatch = Minibatch(model, w, data.x_train[rows], data.y_train[rows])
        payload = mechanism.make_payload(minibatch, event, UNUSED_KEY, chance)
        g = mechanism.read(payload, UNUSED_KEY).g
        assert g is not None
        sizes.append(np.square(g).sum())
    some = rng.choice(len(data.y_train), min(500, len(data.y_train)), replace=False)
    alone = np.square(model.gradients(w, data.x_train[some], data.y_train[some]))
    sampling = float(alone.sum(axis=1).mean()) / batch
    predicted = sampling + 32 * model.size / (batch * EPSILON) ** 2
    return Measured(batch, float(np.mean(sizes)), predicted)


def bytes_sent(model: Model, data: Dataset, batch: int) -> Measured:
    """Measure the bytes of a real check-out and check-in over b; the numbers alone need 2·4·C·D/b.

    Paper: Section IV-B2.
    """
    mechanism = make_stand_in(LEARNING, model, batch).mechanism
    w, chance, event = np.zeros(model.size), SystemChance(), mechanism.event(batch, UNUSED_KEY)
    minibatch = Minibatch(model, w, data.x_train[:batch], data.y_train[:batch])
    checkin = write_checkin(mechanism, minibatch, event, UNUSED_KEY, chance, version=10_000)
    checkout = Checkout(10_000, State.RUNNING, encode_parameters(np.zeros(model.size)))
    sent = len(msgspec.json.encode(checkin)) + len(msgspec.json.encode(checkout))
    return Measured(batch, sent / batch, 2 * COORDINATE_BYTES * model.size / batch)


def staleness(devices: int, batch: int, delay: float, rng: np.random.Generator) -> Measured:
    """Measure the mean number of missed updates beside (τ_co + τ_ci)·M·F_s/b, which is τ/b in Δ.

    The two delays have means of τ/2 each.

    Each tick's sample goes to any device, as the formula assumes.

    Paper: Section IV-B3.
    """
    device = rng.integers(0, devices, TICKS).astype(np.int32)
    arrivals = Arrivals(device, np.arange(TICKS, dtype=np.int32))
    schedule = make_schedule(arrivals, devices, batch, uniform_delay(delay), rng=rng)
    return Measured(delay, float(schedule.staleness.mean()), delay / batch)
