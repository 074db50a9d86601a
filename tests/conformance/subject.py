"""What the suite needs from a device, of whatever kind."""

from typing import Protocol

from tests.conformance.scene import RETRY_AFTER, Scene
from tests.conformance.table import Seen

__all__ = ["PROBES", "Subject"]


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

    def wait(self) -> float:
        """Seconds until the next attempt."""

    def look(self) -> Seen: ...

    def back_up(self) -> None:
        """Keep a copy of its memory, without the record that lies outside of it."""

    def restore(self) -> None:
        """Put the copy in place of its memory, and start it again."""

    def lose_record(self) -> None:
        """Remove the record of what was sent."""

    def die_at_the_record(self, written: bool) -> None:
        """Give it a minibatch, and kill it just before or after its check-in is recorded."""

    def again(self) -> str:
        """When it tries again, in the words of the table; this ends the scene."""

    def close(self) -> None: ...


PROBES = (
    (0.0, "at once"),
    (0.4, "too soon"),
    (5.0, "after back-off"),
    (RETRY_AFTER - 1.0, "between the two"),
    (RETRY_AFTER + 1.0, "after retry_after"),
    (36_000.0, "much later"),
)
"""What it is called if a device that has something to send does so after these seconds.

The back-off after one or two failures is between half a second and three.
"""
