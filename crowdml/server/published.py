"""What devices may see of a task."""

from dataclasses import dataclass
from functools import cached_property

import msgspec

from crowdml.protocol import Checkout, State, encode_parameters
from crowdml.types import Array

__all__ = ["Published"]


@dataclass(frozen=True)
class Published:
    """One version of a task, whole: w, its number and the state belong together.

    Made after a commit and never changed, so any thread may read it at any time.
    """

    version: int
    state: State
    w: Array

    @property
    def etag(self) -> str:
        return f'"{self.version}-{self.state}"'

    @cached_property
    def body(self) -> bytes:
        """The answer to a check-out, encoded when the first device asks."""
        w = encode_parameters(self.w)
        return msgspec.json.encode(Checkout(self.version, self.state, w))
