"""Fetch readings from phyphox on a phone in the same network."""

import http.client
import logging
import time
from collections.abc import Callable
from urllib.parse import quote

from crowdml.device.outcome import Outcome
from crowdml.device.retry_timer import RetryTimer
from crowdml.device.sources.formats import SECOND, Phyphox
from crowdml.device.sources.intake import Hint, Intake
from crowdml.errors import InvalidInput, InvalidSample

logger = logging.getLogger("crowdml.device")

LARGEST_ANSWER = 2**26
"""Bytes of an answer: three hours of motion at 100 readings a second."""

TIMEOUT_SECONDS = 10.0
QUIET_ANSWERS = 5
"""Answers without new readings, after which whole buffers are requested, as they may be cleared."""

PERIOD_SECONDS = 1.0

RECENT_NANOSECONDS = 600 * SECOND
"""The readings that are fetched of a phone that has too many for one answer."""


class _TooLarge(InvalidInput):
    """Report an answer of more than `LARGEST_ANSWER` bytes."""


class PhyphoxPhone:
    """Request readings that are newer than the newest reading on the device's disk.

    Args:
        retry_timer: When to try again after a failure.
    """

    def __init__(
        self,
        host: str,
        port: int,
        intake: Intake,
        retry_timer: RetryTimer | None = None,
        period: float = PERIOD_SECONDS,
        on_skip: Callable[[InvalidSample], None] = lambda error: None,
    ) -> None:
        assert isinstance(intake.format, Phyphox)
        self._host, self._port = host, port
        self._intake, self._format = intake, intake.format
        self._retry_timer = retry_timer or RetryTimer(longest=30.0)
        self._period = period
        self._on_skip = on_skip
        self._configured = False
        self._session: str | None = None
        self._quiet = 0
        self._failed = False
        self._start = 0
        self._is_full = self._said_full = False
        self._next = time.monotonic()

    def poll(self, seconds: float) -> bool:
        rest = max(self._next - time.monotonic(), self._retry_timer.seconds)
        if rest > 0:
            time.sleep(min(rest, seconds))
        if time.monotonic() >= self._next and self._retry_timer.is_due:
            self._next = time.monotonic() + self._period
            if self._has_room():
                self._attempt()
        return True

    def close(self) -> None:
        pass

    @property
    def end_is_known(self) -> bool:
        return True  # nothing can be shown in phyphox

    def _has_room(self) -> bool:
        """Return whether the buffer has room; log once that it has none, and that it has again."""
        if self._is_full:
            self._intake.flush()  # use the readings that wait in this process
            self._is_full = not self._intake.has_room
            if self._is_full != self._said_full and not self._intake.doubt:
                self._said_full = self._is_full
                full = "the buffer is full: what phyphox has waits on the phone."
                logger.warning(full if self._is_full else "the buffer has room again.")
        return not self._is_full

    def _attempt(self) -> None:
        try:
            if not self._configured:
                self._format.configure(self._get("/config"))
                self._configured = True
            try:
                body = self._get(self._query())
            except _TooLarge:
                self._leave_out_the_oldest()
                body = self._get(self._query())
            self._take(body)
            self._retry_timer.clear()
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
                self._configured, self._start = False, 0
                logger.warning("phyphox has begun a new session.")
            if not batch.whole:
                return  # the answer belongs to another session: ask again
        self._quiet = 0 if batch.readings else self._quiet + self._format.measuring
        try:
            self._intake.take(body)
        except Hint as hint:
            self._on_skip(hint)
        self._is_full = not self._intake.has_room

    def _leave_out_the_oldest(self) -> None:
        """Ask for the newest reading, and begin some minutes before it."""
        times, values = self._format.buffers
        newest_only = "&".join(map(quote, (times, *values)))
        batch = self._format.parse(self._get(f"/get?{newest_only}"), self._intake.clock())
        if batch.session != self._session:
            self._session, self._start = batch.session, 0
        known = max(self._intake.newest(f"phyphox:{self._session}") or 0, self._start)
        start = batch.latest - RECENT_NANOSECONDS
        if start <= known:
            raise InvalidInput(
                f"phyphox must answer with at most {LARGEST_ANSWER:,} bytes, found more in the "
                f"last {RECENT_NANOSECONDS // SECOND // 60} minutes. Lower the rate of the sensor."
            )
        logger.warning(
            f"phyphox has more than {LARGEST_ANSWER / 2**20:.3g} MiB of new readings: "
            f"{(start - known) / SECOND / 60:.1f} minutes are left out, and the last "
            f"{RECENT_NANOSECONDS // SECOND // 60} minutes are read."
        )
        self._start = start

    def _query(self) -> str:
        """Ask for new values, or for whole buffers if they may have been cleared."""
        times, values = self._format.buffers
        newest = None
        if self._session is not None and self._quiet < QUIET_ANSWERS:
            newest = self._intake.newest(f"phyphox:{self._session}")
            if self._start > (newest or 0):
                newest = self._start
        else:
            self._quiet = 0
        since = "full" if newest is None else f"{newest / SECOND:.9f}"
        after = "full" if newest is None else f"{since}|{times}"
        asked = [f"{quote(times)}={since}", *(f"{quote(name)}={quote(after)}" for name in values)]
        return f"/get?{'&'.join(asked)}"

    def _get(self, path: str) -> bytes:
        """Fetch a path over a new connection: phyphox's server is unreliable with kept ones."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("GET", path, headers={"Connection": "close"})
            answer = connection.getresponse()
            body = answer.read(LARGEST_ANSWER + 1)
        finally:
            connection.close()
        if answer.status != 200:
            raise InvalidInput(
                f"phyphox at {self._host}:{self._port} must answer {path.partition('?')[0]} with "
                f"200, found {answer.status}."
            )
        if len(body) > LARGEST_ANSWER:
            raise _TooLarge(f"an answer must have at most {LARGEST_ANSWER:,} bytes, found more.")
        return body

    def _fail(self, what: str) -> None:
        self._retry_timer.wait_after_failure(Outcome.WAITING)
        self._configured = False
        if not self._failed:
            logger.warning(f"{what} Will try again.")
            self._failed = True
