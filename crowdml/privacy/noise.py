"""Where noise comes from: the one seam between a mechanism and its randomness."""

import functools
import math
from typing import Any, Protocol

import numpy as np

from crowdml.types import Ints

__all__ = ["ExactNoise", "NoiseSource", "laplace_scale", "laplace_tail", "laplace_variance"]


class NoiseSource(Protocol):
    """Adds independent discrete Laplace noise, P(z) ∝ exp(−|z|/scale), to integers."""

    def add_laplace(self, values: Ints, scale: float) -> Ints: ...


class ExactNoise:
    """Exact samples from the operating system's secure generator, through OpenDP.

    Integers in, integers out: no floating-point number is ever random, so the low bits of the
    result tell nothing. Sampler: Canonne, Kamath, Steinke 2020.

    >>> noisy = ExactNoise().add_laplace(np.array([0, 1000]), scale=1e-3)   # as good as none
    >>> noisy
    array([   0, 1000])
    """

    def add_laplace(self, values: Ints, scale: float) -> Ints:
        return np.array(_measurement(scale)(values.tolist()), dtype=np.int64)


@functools.lru_cache(maxsize=256)
def laplace_scale(sensitivity: int, epsilon: float) -> float:
    """The smallest 64-bit float at which OpenDP itself certifies ε for this L1 sensitivity.

    >>> laplace_scale(sensitivity=2, epsilon=0.5)
    4.0
    """
    scale = sensitivity / epsilon
    while _measurement(scale).map(sensitivity) > epsilon:
        scale = math.nextafter(scale, math.inf)
    return scale


def laplace_variance(scale: float) -> float:
    """The variance of the discrete Laplace law, 2e^{−1/s}/(1 − e^{−1/s})².

    Paper: Appendix, Remark 2.

    >>> round(laplace_variance(scale=10.0), 2)      # close to the continuous 2·10²
    199.83
    """
    p = math.exp(-1.0 / scale)
    return 2.0 * p / (1.0 - p) ** 2


def laplace_tail(scale: float, probability: float) -> int:
    """The least k with P(|z| > k) ≤ probability.

    P(|z| > k) = 2e^{−(k+1)/s}/(1 + e^{−1/s}).

    >>> laplace_tail(scale=1.0, probability=0.01)
    4
    """
    k = scale * math.log(2.0 / (probability * (1.0 + math.exp(-1.0 / scale)))) - 1.0
    return max(0, math.ceil(k))


@functools.lru_cache(maxsize=64)
def _measurement(scale: float) -> Any:
    # Imported late and piecemeal: `opendp.prelude` would pull in every optional package.
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)
