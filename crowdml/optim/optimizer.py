"""What an optimizer is: a pair (init, update), its state in plain sight."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from crowdml.types import Array

__all__ = ["Optimizer", "State"]

State: TypeAlias = dict[str, Array]
"""Named arrays: what a snapshot stores and a restart reads back, with nothing hidden."""


def newest(state: State, w: Array) -> Array:
    """The model of a plain optimizer is its newest iterate."""
    return w


class Optimizer(NamedTuple):
    """How the server steps, once per check-in.

    Args:
        init: `init(w)` gives the state before the first step.
        update: `update(state, w, g, device)` gives `(state, w)` after one step with the
            gradient `g` of the device with that index (0, 1, …). It may reuse the memory of the
            state that it is given, never that of `w` or `g`.
        model: `model(state, w)` gives the parameters to publish as the result, which differ
            from the iterate `w` only where iterates are averaged.

    Paper: Eq. (3) and Remark 3 (other update rules leave privacy and devices untouched).
    """

    init: Callable[[Array], State]
    update: Callable[[State, Array, Array, int], tuple[State, Array]]
    model: Callable[[State, Array], Array] = newest
