"""Add exact noise: the one place where a mechanism gets its randomness."""

import functools
import math
from typing import Any, Protocol

import numpy as np

from crowdml.errors import CrowdmlError
from crowdml.types import Ints


class NoiseSource(Protocol):
    """Add independent noise to integers.

    Laplace: P(z) ∝ exp(−|z|/scale). Gaussian: P(z) ∝ exp(−z²/(2·scale²)).
    """

    def add_laplace(self, values: Ints, scale: float) -> Ints: ...

    def add_gaussian(self, values: Ints, scale: float) -> Ints: ...


class ExactNoise:
    """Draw exact noise from the operating system's secure generator, through OpenDP.

    Integers in, integers out: no floating-point number is random, so the low bits of the result
    reveal nothing. Sampler: Canonne, Kamath, Steinke 2020.

    >>> noisy = ExactNoise().add_laplace(np.array([0, 1000]), scale=1e-3)   # as good as none
    >>> noisy
    array([   0, 1000])
    """

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return np.array(measurement("laplace", scale)(values.tolist()), dtype=np.int64)

    def add_gaussian(self, values: Ints, scale: float) -> Ints:
        return np.array(measurement("gaussian", scale)(values.tolist()), dtype=np.int64)


@functools.lru_cache(maxsize=64)
def measurement(law: str, scale: float) -> Any:
    """Return OpenDP's measurement for this noise, which also certifies the cost."""
    # Imported late and piecemeal: `opendp.prelude` would pull in every optional package.
    try:
        from opendp.domains import atom_domain, vector_domain
        from opendp.measurements import make_gaussian, make_laplace
        from opendp.metrics import l1_distance, l2_distance
        from opendp.mod import enable_features
    except ModuleNotFoundError as error:
        raise CrowdmlError(
            f"{law} noise needs {error.name}, which is not installed. "
            "Run: pip install 'crowdml[noise]'"
        ) from error
    enable_features("contrib")
    integers = vector_domain(atom_domain(T="i64"))
    if law == "laplace":
        return make_laplace(integers, l1_distance(T="i64"), scale=scale)
    return make_gaussian(integers, l2_distance(T="f64"), scale=scale)


@functools.lru_cache(maxsize=256)
def certified_scale(law: str, sensitivity: float, level: float, start: float) -> float:
    """Return the smallest 64-bit float from `start` on at which OpenDP certifies this level."""
    exact = int(sensitivity) if law == "laplace" else float(sensitivity)
    scale = start
    while measurement(law, scale).map(exact) > level:
        scale = math.nextafter(scale, math.inf)
    return scale
