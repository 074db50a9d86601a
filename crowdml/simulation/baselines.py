"""What a server could learn if it were given all the data."""

import numpy as np

from crowdml.models import Model
from crowdml.types import Array

__all__ = ["central_batch", "error_rate"]


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
