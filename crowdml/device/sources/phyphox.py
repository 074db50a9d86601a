"""Fetch readings from phyphox on a phone in the same network."""

import http.client
import logging
import time
from collections.abc import Callable
from urllib.parse import quote

from crowdml.device.outcome import Outcome
from crowdml.device.sources.formats import SECOND, Phyphox
from crowdml.device.sources.intake import Intake
from crowdml.device.waiting import Waiting
from crowdml.errors import InvalidInput, InvalidSample

logger = logging.getLogger("crowdml.device")

LARGEST = 2**26
"""Bytes of an answer: three hours of motion at 100 readings a second."""

TIMEOUT = 10.0
QUIET = 5
"""Answers without new readings, after which whole buffers are requested, as they may be cleared."""

PERIOD = 1.0


class PhyphoxPhone:
    """Request readings that are newer than the newest reading on the device's disk.

    Args:
        waiting: When to try again after a failure.
    """

    def __init__(
        self,
        host: str,
        port: int,
        intake: Intake,
        waiting: Waiting | None = None,
        period: float = PERIOD,
        on_skip: Callable[[InvalidSample], None] = lambda error: None,
    ) -> None:
        assert isinstance(intake.format, Phyphox)
        self._host, self._port = host, port
        self._intake, self._format = intake, intake.format
        self._waiting = waiting or Waiting(longest=30.0)
        self._period = period
        self._on_skip = on_skip
        self._configured = False
        self._session: str | None = None
        self._quiet = 0
        self._failed = False
        self._next = time.monotonic()

    def poll(self, seconds: float) -> bool:
        rest = max(self._next - time.monotonic(), self._waiting.seconds)
        if rest > 0:
            time.sleep(min(rest, seconds))
        if time.monotonic() >= self._next and self._waiting.due:
            self._next = time.monotonic() + self._period
            self._attempt()
        return True

    def close(self) -> None:
        pass

    def _attempt(self) -> None:
        try:
            if not self._configured:
                self._format.configure(self._get("/config"))
                self._configured = True
            self._take(self._get(self._query()))
            self._waiting.clear()
            self._failed = False
        except InvalidInput as error:
            # Not an end: the person may open another experiment at any time.
            self._fail(str(error))
        except (OSError, http.client.HTTPException) as error:
            self._fail(f"cannot reach phyphox at {self._host}:{self._port}: {error}.")

    def _take(self, body: bytes) -> None:
        batch = self._format.parse(body, self._intake.clock())
        if batch.session != self._session:
            first, self._session = self._session is None, batch.session
            if not first:
                self._configured = False
                logger.warning("phyphox has begun a new session.")
            if not batch.whole:
                return  # the answer belongs to another session: ask again
        self._quiet = 0 if batch.readings else self._quiet + self._format.measuring
        if self._intake.take(body) is Outcome.FULL:
            logger.warning("the buffer is full: what phyphox has waits on the phone.")

    def _query(self) -> str:
        """Ask for new values, or for whole buffers if they may have been cleared."""
        times, values = self._format.buffers
        newest = None
        if self._session is not None and self._quiet < QUIET:
            newest = self._intake.newest(f"phyphox:{self._session}")
        else:
            self._quiet = 0
        since = "full" if newest is None else f"{newest / SECOND:.9f}"
        after = "full" if newest is None else f"{since}|{times}"
        asked = [f"{quote(times)}={since}", *(f"{quote(name)}={quote(after)}" for name in values)]
        return f"/get?{'&'.join(asked)}"

    def _get(self, path: str) -> bytes:
        """Fetch a path over a new connection: phyphox's server is unreliable with kept ones."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT)
        try:
            connection.request("GET", path, headers={"Connection": "close"})
            answer = connection.getresponse()
            body = answer.read(LARGEST + 1)
        finally:
            connection.close()
        if answer.status != 200 or len(body) > LARGEST:
            raise InvalidInput(
                f"phyphox at {self._host}:{self._port} must answer {path.partition('?')[0]} with "
                f"200, found {answer.status} and {len(body):,} bytes."
            )
        return body

    def _fail(self, what: str) -> None:
        self._waiting.hold(Outcome.WAITING)
        self._configured = False
        if not self._failed:
            logger.warning(f"{what} Will try again.")
            self._failed = True
