"""Write arrays as little-endian bytes, which JSON carries in base64."""

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.types import Array


def encode_parameters(w: Array) -> bytes:
    """Write float32, row-major C×D, then the intercepts where the model has them.

    >>> encode_parameters(np.array([1.0, -2.0])).hex()
    '0000803f000000c0'
    """
    return w.astype("<f4").tobytes()


def decode_parameters(data: bytes, size: int) -> Array:
    """Read the parameters of a model with `size` of them; reject anything else.

    Otherwise a server could manipulate the gradient with values that are not numbers.
    """
    if len(data) != 4 * size:
        raise InvalidInput(f"parameters must be {4 * size} bytes, found {len(data)}.")
    w = np.frombuffer(data, dtype="<f4").astype(np.float64)
    if not np.isfinite(w).all():
        raise InvalidInput("parameters must be finite numbers, found nan or inf.")
    return w
