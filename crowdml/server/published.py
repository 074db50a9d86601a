"""What devices may see of a task."""

from dataclasses import dataclass
from functools import cached_property

import msgspec

from crowdml.protocol import Checkout, State, encode_parameters
from crowdml.server.compression import compress
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

    @cached_property
    def _encoded(self) -> dict[str, bytes]:
        return {"": self.body}

    def encoded(self, coding: str) -> bytes:
        """The same in a content coding, compressed when the first device asks for it."""
        if coding not in self._encoded:
            self._encoded[coding] = compress(self.body, coding)
        return self._encoded[coding]
