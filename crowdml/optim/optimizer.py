"""What an optimizer is: a pair (init, update), its state in plain sight."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from crowdml.types import Array

OptimizerState: TypeAlias = Mapping[str, Any]
"""Named numbers and arrays, or what NumPy reads as an array, with nothing hidden: a snapshot
stores them, and `read_state` reads them back."""


def read_state(stored: Mapping[str, Array]) -> OptimizerState:
    """Read a state as a snapshot stored it: numbers become numbers again."""
    return {name: part if part.ndim else part.item() for name, part in stored.items()}


def newest(state: OptimizerState, w: Array) -> Array:
    """The model of a plain optimizer is its newest iterate."""
    return w


class Optimizer(NamedTuple):
    """How the server steps, once per check-in.

    Args:
        init: `init(w)` gives the state before the first step.
        update: `update(state, w, g, device)` gives `(state, w)` after one step with the
            gradient `g` of the device with that index (0, 1, …). It changes nothing that it is
            given, so that any state can be kept, read by other threads and stepped from again.
        model: `model(state, w)` gives the parameters to publish as the result, which differ
            from the iterate `w` only where iterates are averaged.

    Paper: Eq. (3) and Remark 3 (other update rules leave privacy and devices untouched).
    """

    init: Callable[[Array], OptimizerState]
    update: Callable[[OptimizerState, Array, Array, int], tuple[OptimizerState, Array]]
    model: Callable[[OptimizerState, Array], Array] = newest
