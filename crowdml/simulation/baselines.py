"""Compute what the crowd is compared with: all data in one place, or a guess."""

import math
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from crowdml.errors import InvalidInput
from crowdml.models import Model
from crowdml.simulation.datasets import Dataset
from crowdml.types import Array


def central_batch(model: Model, x: Array, y: Array, regularization: float) -> Array:
    """Minimise the mean loss plus λ/2·‖w‖² by L-BFGS, with the model's own gradient.

    Paper: Section V-C, "Central (batch)"; the risk is as in Table I.
    """

    def risk(w: Array) -> tuple[float, Array]:
        value = model.losses(w, x, y).mean() + regularization / 2 * w.dot(w)
        gradient = model.mean_gradient(w, x, y, clip=np.inf) + regularization * w
        return float(value), gradient

    options = {"maxiter": 2000, "maxfun": 5000}
    found = minimize(risk, np.zeros(model.size), jac=True, method="L-BFGS-B", options=options)
    w: Array = found.x
    return w


def error_rate(model: Model, w: Array, x: Array, y: Array) -> float:
    """Return the share of samples that the model predicts wrongly."""
    return float(model.mistakes(w, x, y).mean())


def measure(model: Model, ws: Array, test: tuple[Array, Array]) -> tuple[Array, Array]:
    """Measure the error of each row of parameters; for numbers also the RMS of the residuals."""
    x, y = test
    errors = np.array([error_rate(model, w, x, y) for w in ws])
    residuals = [] if model.n_classes else [model.predict(w, x) - y for w in ws]
    return errors, np.array([math.sqrt(np.square(r).mean()) for r in residuals])


def guess_error(data: Dataset, tolerance: float) -> float:
    """Return the error of always guessing the most frequent label, or the median of the numbers."""
    if not data.labels:
        return float((np.abs(data.y_test - np.median(data.y_train)) > tolerance).mean())
    most = np.bincount(data.y_train.astype(np.int64)).argmax()
    return float((data.y_test != most).mean())


def perturb(data: Dataset, epsilon: float, rng: np.random.Generator) -> Dataset:
    """Perturb the data as a central server gets them under local privacy, ε/2 each for x and y.

    x + z with ‖x‖₁ ≤ 1 and P(z) ∝ exp(−ε_x|z|/2); a label stays with probability ∝ exp(ε_y/2), any
    other has probability ∝ 1. Of test data only the features are bounded.

    Paper: Appendix C, Eqs. (15) and (16).
    """
    if math.isinf(epsilon):
        return data
    if not data.labels:
        raise InvalidInput(f"only labels can be perturbed, and {data.name} has numbers to predict.")
    data = data.bounded(1)
    half, n_classes, n = epsilon / 2, len(data.labels), len(data.y_train)
    x = data.x_train + rng.laplace(0.0, 2.0 / half, data.x_train.shape)
    stay = math.exp(half / 2) / (math.exp(half / 2) + n_classes - 1)
    other = (data.y_train + rng.integers(1, n_classes, n)) % n_classes
    y = np.where(rng.random(n) < stay, data.y_train, other)
    return replace(data, x_train=x, y_train=y, raw=True)
