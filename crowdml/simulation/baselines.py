"""What the crowd is compared with: all data in one place, and every device on its own."""

import math
from dataclasses import replace

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.models import Model
from crowdml.simulation.curve import Curve
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.fold import learn
from crowdml.simulation.schedule import one_by_one
from crowdml.simulation.settings import Crowd, Learning
from crowdml.types import Array

__all__ = ["central_batch", "decentralized", "error_rate", "perturb"]

MOST_POINTS, MOST_TESTS = 6, 2000


def central_batch(model: Model, x: Array, y: Array, regularization: float) -> Array:
    """The minimiser of the mean loss plus λ/2·‖w‖², by L-BFGS on the model's own gradient.

    Paper: Section V-C, "Central (batch)"; the risk is that of Table I.
    """
    from scipy.optimize import minimize

    def risk(w: Array) -> tuple[float, Array]:
        value = model.losses(w, x, y).mean() + regularization / 2 * w.dot(w)
        gradient = model.mean_gradient(w, x, y, clip=np.inf) + regularization * w
        return float(value), gradient

    options = {"maxiter": 2000, "maxfun": 5000}
    found = minimize(risk, np.zeros(model.size), jac=True, method="L-BFGS-B", options=options)
    w: Array = found.x
    return w


def error_rate(model: Model, w: Array, x: Array, y: Array) -> float:
    """The share of samples that the model gets wrong."""
    return float(model.mistakes(w, x, y).mean())


def perturb(data: Dataset, epsilon: float, rng: np.random.Generator) -> Dataset:
    """The data as a central server gets it under local privacy, ε/2 each for x and y.

    x + z with P(z) ∝ exp(−ε_x|z|/2); a label stays with probability ∝ exp(ε_y/2), any other has
    probability ∝ 1. Test data stay as they are.

    Paper: Appendix C, Eqs. (15) and (16).
    """
    if math.isinf(epsilon):
        return data
    if not data.labels:
        raise InvalidInput(f"only labels can be perturbed, and {data.name} has numbers to predict.")
    half, n_classes, n = epsilon / 2, len(data.labels), len(data.y_train)
    x = data.x_train + rng.laplace(0.0, 2.0 / half, data.x_train.shape)
    stay = math.exp(half / 2) / (math.exp(half / 2) + n_classes - 1)
    other = (data.y_train + rng.integers(1, n_classes, n)) % n_classes
    y = np.where(rng.random(n) < stay, data.y_train, other)
    return replace(data, x_train=x, y_train=y)


def decentralized(
    data: Dataset, crowd: Crowd, learning: Learning, seed: tuple[int, ...], points: int
) -> Curve:
    """Every device learns alone from its own samples; errors are averaged over devices.

    Nothing leaves a device, so there is no noise, and ε is 0. Since every device has a model of its
    own to test, errors are measured at no more than 6 points, on at most 2,000 test samples.

    Paper: Section V-C, "Decentral (SGD)".
    """
    rng = np.random.default_rng(seed)
    learning = replace(learning, epsilon=math.inf)
    hands = data.deal(crowd.devices, rng, crowd.skew, crowd.spread)
    model = learning.model_for(data)
    x_test, y_test = data.x_test[:MOST_TESTS], data.y_test[:MOST_TESTS]
    shares = np.linspace(0.0, 1.0, min(points, MOST_POINTS) + 1)
    errors, online = np.zeros(len(shares)), np.zeros(len(shares))
    orders = [np.concatenate([rng.permutation(own) for _ in range(crowd.passes)]) for own in hands]
    for rows in orders:
        schedule = one_by_one(len(rows), crowd.batch)
        stops = (shares * schedule.n_checkins).astype(np.int64)
        alone = replace(data, x_train=data.x_train[rows], y_train=data.y_train[rows])
        w, wrong = learn(alone, schedule, learning, stops, rng)
        errors += [error_rate(model, row, x_test, y_test) for row in w]
        online += np.cumsum([0, *wrong])[stops] / np.maximum(schedule.start[stops], 1)
    samples = (shares * len(data.y_train) * crowd.passes).astype(np.int64)
    return Curve(samples, errors[None] / len(hands), online[None] / len(hands))
