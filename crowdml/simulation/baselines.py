"""What the crowd is compared with: all data in one place, and every device on its own."""

import math
from dataclasses import replace

import numpy as np

from crowdml.models import Model
from crowdml.simulation.datasets import Dataset
from crowdml.simulation.kernel import MODELS, fold, pad
from crowdml.simulation.settings import Crowd, Learning
from crowdml.simulation.trial import OPTIMIZER_CODES, Lane
from crowdml.types import Array

__all__ = ["central_batch", "decentralized", "error_rate", "perturb"]


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
    half, n_classes, n = epsilon / 2, len(data.labels), len(data.y_train)
    x = data.x_train + rng.laplace(0.0, 2.0 / half, data.x_train.shape)
    stay = math.exp(half / 2) / (math.exp(half / 2) + n_classes - 1)
    other = (data.y_train + rng.integers(1, n_classes, n)) % n_classes
    y = np.where(rng.random(n) < stay, data.y_train, other)
    return replace(data, x_train=x, y_train=y)


def decentralized(
    data: Dataset, crowd: Crowd, way: Learning, seed: tuple[int, ...], points: int = 10
) -> Lane:
    """Every device learns alone from its own samples; errors are averaged over devices.

    Paper: Section V-C, "Decentral (SGD)".
    """
    rng = np.random.default_rng(seed)
    device = data.assign(crowd.devices, rng, crowd.skew, crowd.spread)
    model = way.make_model(data.x_train.shape[1], len(data.labels))
    x, y = pad(data.x_train), data.y_train.astype(np.float32)
    l1_norms = np.abs(x).sum(axis=1)
    shares = np.linspace(0.0, 1.0, points + 1)
    weights = np.zeros((points + 1, crowd.devices, model.size), np.float32)
    by_device = np.argsort(device, kind="stable")
    ends = np.searchsorted(device[by_device], np.arange(crowd.devices + 1))
    for m in range(crowd.devices):
        own = by_device[ends[m] : ends[m + 1]]
        rows = np.concatenate([rng.permutation(own) for _ in range(crowd.passes)])
        n = len(rows)
        weights[:, m] = fold(
            x[rows], model.n_features, y[rows], l1_norms[rows],
            np.arange(n + 1), np.arange(n), MODELS[way.model], model.n_scores,
            np.float32(model.l1_bound), np.float32(way.delta), np.float32(way.tolerance),
            OPTIMIZER_CODES[way.optimizer, way.rate], way.c, np.float32(way.regularization),
            way.radius, -1.0, np.zeros(2, np.float32), np.zeros((4, 1), np.uint32),
            (shares * n).astype(np.int64), np.zeros(n, np.int64),
        )  # fmt: skip
    errors = np.array([_mean_error(data, row, model.n_scores) for row in weights])
    samples = (shares * len(data.y_train) * crowd.passes).astype(np.int64)
    return Lane(samples, errors, errors, weights[-1, 0].astype(float), 0, 0.0, 0.0)


def _mean_error(data: Dataset, weights: np.ndarray, n_scores: int, most: int = 2000) -> float:
    """The error averaged over devices, on at most so many test samples, in a few large products."""
    x, y = data.x_test[:most].astype(np.float32), data.y_test[:most]
    wrong = []
    for block in np.array_split(weights, max(1, len(weights) // 100)):
        scores = x @ block.reshape(-1, x.shape[1]).T
        best = scores.reshape(len(x), len(block), n_scores).argmax(axis=2)
        wrong.append((best != y[:, None]).mean(axis=0))
    return float(np.concatenate(wrong).mean())
