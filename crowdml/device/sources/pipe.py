"""Read the objects that another program writes to standard input, and stamp each on arrival."""

import queue
import threading
from collections.abc import Callable

from crowdml.device.outcome import Outcome
from crowdml.device.sources.files import bounded_lines
from crowdml.device.sources.formats import LONGEST_OBJECT, JsonObjects
from crowdml.device.sources.intake import Hint, Intake
from crowdml.errors import InvalidInput, InvalidSample

MOST_WAITING = 100_000
"""The most objects that wait while a check-in is sent: over half an hour at 50 objects a second."""


class Pipe:
    """Read lines in a thread, so that times are right even while the device checks in.

    Args:
        readline: Returns the next line, cut to a length; empty at the end.
        on_skip: Called with what was wrong with an object.
    """

    def __init__(
        self,
        readline: Callable[[int], str],
        intake: Intake,
        on_skip: Callable[[InvalidSample], None] = lambda error: None,
    ) -> None:
        self._intake = intake
        self._on_skip = on_skip
        self._waiting: queue.Queue[tuple[int, str] | None] = queue.Queue(MOST_WAITING)
        self._broken: InvalidInput | None = None
        threading.Thread(target=self._read, args=(readline,), daemon=True).start()

    def poll(self, seconds: float) -> bool:
        n_kept = self._intake.counts.kept
        try:
            found = self._waiting.get(timeout=seconds)
            while found:
                self._take(*found)
                if self._intake.counts.kept > n_kept or self._intake.doubt:
                    return True  # it may be time to check in, or to ask the person
                found = self._waiting.get_nowait()
        except queue.Empty:
            return True
        if self._broken:
            raise self._broken
        return False

    def close(self) -> None:
        pass

    @property
    def end_is_known(self) -> bool:
        return True  # nobody reads answers at the other end of a pipe

    def _read(self, readline: Callable[[int], str]) -> None:
        objects = JsonObjects()
        try:
            for line in bounded_lines(readline, LONGEST_OBJECT, "standard input"):
                for found in objects.feed(line):
                    self._waiting.put((self._intake.clock(), found))
        except InvalidInput as error:
            self._broken = error
        except UnicodeDecodeError as error:
            self._broken = InvalidInput(f"standard input must be UTF-8 text: {error}.")
        except (ValueError, OSError):
            pass  # standard input was closed: the end
        finally:
            self._waiting.put(None)

    def _take(self, arrival: int, found: str) -> None:
        try:
            outcome = self._intake.take(found.encode(errors="surrogateescape"), arrival=arrival)
            if outcome is Outcome.FULL:
                raise InvalidSample("not kept, because the buffer is full and a pipe cannot wait.")
        except InvalidSample as error:
            self._intake.counts.skipped += not isinstance(error, Hint)
            self._on_skip(error)
