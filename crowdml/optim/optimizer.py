"""Define the interface of an optimizer: a pair (init, update) that hides no state."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from crowdml.types import Array

OptimizerState: TypeAlias = Mapping[str, Any]
"""Named numbers and arrays, or what NumPy reads as an array, with nothing hidden: a snapshot
stores them, and `read_state` reads them back."""


def read_state(stored: Mapping[str, Array]) -> OptimizerState:
    """Read the state that a snapshot stored, and turn its scalar arrays into numbers again."""
    return {name: part if part.ndim else part.item() for name, part in stored.items()}


def newest(state: OptimizerState, w: Array) -> Array:
    """Return the newest iterate, which is the model of a plain optimizer."""
    return w


class Optimizer(NamedTuple):
    """Step once per check-in.

    Args:
        init: `init(w)` returns the state before the first step.
        update: `update(state, w, g, device)` returns `(state, w)` after one step with the
            gradient `g` of the device with that index (0, 1, …). It does not change its
            arguments, so a state can be kept, read by other threads and stepped from again.
        model: `model(state, w)` returns the parameters to publish. They differ from the iterate
            `w` only where iterates are averaged.

    Paper: Eq. (3) and Remark 3 (other update rules leave privacy and devices untouched).
    """

    init: Callable[[Array], OptimizerState]
    update: Callable[[OptimizerState, Array, Array, int], tuple[OptimizerState, Array]]
    model: Callable[[OptimizerState, Array], Array] = newest
