"""Define what the suite needs from a device of any kind."""

from typing import Protocol

from tests.conformance.scene import RETRY_AFTER, Scene
from tests.conformance.table import Seen


class Subject(Protocol):
    """Drive one device of one scene."""

    name: str
    scene: Scene

    def join(self, limit: float | None = None) -> None:
        """Join the scene's task, with a limit on the device's ε if one is given."""

    def feed(self, n: int) -> None:
        """Give the device n samples."""

    def wake(self) -> None:
        """Advance the clock to the next attempt, if there is one, and ask the device to send."""

    def start(self) -> None:
        """Start the device again, and ask it to send."""

    def other_leaves(self) -> None:
        """Leave in another process, and let this process notice."""

    def agree(self) -> None:
        """Agree to the terms that the task has now."""

    def raise_limit(self) -> None:
        """Raise the limit to what the terms allow."""

    def leave(self) -> None: ...

    def wait(self) -> float:
        """Return the seconds until the next attempt."""

    def look(self) -> Seen: ...

    def back_up(self) -> None:
        """Copy the device's memory, without the record that lies outside of it."""

    def restore(self) -> None:
        """Put the copy in place of the device's memory, and start the device again."""

    def lose_record(self) -> None:
        """Remove the record of what was sent."""

    def die_at_the_record(self, written: bool) -> None:
        """Give the device a minibatch; kill it just before or after recording its check-in."""

    def again(self) -> str:
        """Return when the device tries again, in the words of the table; this ends the scene."""

    def close(self) -> None: ...


PROBES = (
    (0.0, "at once"),
    (0.4, "too soon"),
    (5.0, "after back-off"),
    (RETRY_AFTER - 1.0, "between the two"),
    (RETRY_AFTER + 1.0, "after retry_after"),
    (36_000.0, "much later"),
)
"""Names for the time after which a device with something to send does send, in seconds.

The back-off after one or two failures is between half a second and three seconds.
"""
