"""What the suite needs from a device, of whatever kind."""

from typing import Protocol

from tests.conformance.scene import BATCH, RETRY_AFTER, Scene
from tests.conformance.table import Seen

__all__ = ["Subject", "try_again"]


class Subject(Protocol):
    """One device of one scene."""

    name: str
    scene: Scene

    def join(self, limit: float | None = None) -> None:
        """Join the scene's task, with a limit on the device's ε if one is given."""

    def feed(self, n: int) -> None:
        """Give it n samples."""

    def wake(self) -> None:
        """Let the time of the next attempt come, if it ever comes, and ask it to send."""

    def start(self) -> None:
        """Start it again, and ask it to send."""

    def other_leaves(self) -> None:
        """Leave in another process, and let this one notice."""

    def agree(self) -> None:
        """Agree to the terms that the task has now."""

    def raise_limit(self) -> None:
        """Allow as much as the terms do."""

    def leave(self) -> None: ...

    def look(self) -> Seen: ...

    def again(self) -> str:
        """When it tries again, in the words of the table; this ends the scene."""

    def close(self) -> None: ...


class Clocked(Protocol):
    """A device whose clock a test moves."""

    scene: Scene

    def feed(self, n: int) -> None: ...

    def sync(self) -> None: ...

    def advance(self, seconds: float) -> None: ...

    def look(self) -> Seen: ...


def try_again(device: Clocked) -> str:
    """Give it something to send, and see when it does.

    The back-off after one or two failures is between half a second and three.
    """
    device.scene.heard.clear()
    seen = device.look()
    if seen.outbox is None and seen.samples < BATCH:
        device.feed(BATCH - seen.samples)
    device.sync()
    passed = 0.0
    for until, word in (
        (0.0, "at once"),
        (0.4, "too soon"),
        (5.0, "after back-off"),
        (RETRY_AFTER - 1.0, "between the two"),
        (RETRY_AFTER + 1.0, "after retry_after"),
        (36_000.0, "much later"),
    ):
        device.advance(until - passed)
        passed = until
        device.sync()
        if device.scene.heard:
            return word
    return "never by itself"
