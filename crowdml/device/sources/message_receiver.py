"""Decide who may post messages of a sensor app, and how each message is answered."""

import hmac
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

from crowdml.device.outcome import Outcome
from crowdml.device.sources.address import ListenAddress
from crowdml.device.sources.intake import Hint, Intake
from crowdml.errors import DeviceError, InvalidSample

SHOWN_STATUS = 499
"""The status with which Sensor Logger shows the answer's text to the person."""

FULL_TEXT = (
    "This device has no room for more samples until it has reached its server, or its limit on ε "
    "is raised."
)
STOPPED_TEXT = "This device is stopping: send the message again later."
ENDED_TEXT = "The task is over for this device: you can stop recording."
PAGE_HTML = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>crowdml device</title>
<style>body{{font:1.1rem/1.5 sans-serif;max-width:34rem;margin:1rem auto;padding:0 1rem}}
code{{display:block;padding:.6rem;background:#eee;overflow-wrap:anywhere;user-select:all}}
.button{{display:inline-block;padding:.6rem 1rem;border-radius:.4rem;background:#174ea6;color:#fff}}
svg{{max-width:100%;height:auto}}</style>
<h1>This device listens</h1>{setup}
<h2>Set up by hand</h2><p>Copy this address into the app. In Sensor Logger it is the
<b>Push URL</b> under <b>HTTP Push</b>, behind the gear on the Logger page:</p>
<code>{url}</code>{qr}
<p>Messages received so far: {n}. Samples kept: {kept}.</p></html>
"""
SETUP_HTML = """<h2>Set up Sensor Logger</h2><p>On the phone, tap this button. On a computer, scan
the code with the phone's camera. Sensor Logger then switches on the sensor of the task and sends
its readings here.</p><p><a class="button" href="{link}">Set up Sensor Logger</a></p>{qr}
<p>The app asks first, because this replaces <b>all of its settings</b>. To keep them, set up by
hand.</p>"""


class MessageReceiver:
    """Check the secret of a request, give its message to `Intake`, and choose the answer.

    A message is answered with 200 when its readings are on this machine's disk, and with 499 and
    a sentence where the person should know something.

    Args:
        on_skip: Called with what was wrong with a message.

    Attributes:
        url: Return the address for the app at this moment; empty to show what a browser asked for.
        port: The port on which requests come.
        closed: Whether no more messages are taken.
        end_is_known: Whether an app was told that the task is over.
    """

    def __init__(
        self,
        address: ListenAddress,
        intake: Intake,
        on_skip: Callable[[InvalidSample], None] = lambda error: None,
    ) -> None:
        self.url: Callable[[], str] = str
        self.port = address.port
        self.closed = self.end_is_known = False
        self._address = address
        self._intake = intake
        self._on_skip = on_skip
        self._n_open = 0
        self._open = threading.Condition()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a message as open until its answer is written."""
        with self._open:
            self._n_open += 1
        try:
            yield
        finally:
            with self._open:
                self._n_open -= 1
                self._open.notify_all()

    def wait_for_answers(self, seconds: float) -> None:
        """Return when no message is open, or after this time."""
        with self._open:
            self._open.wait_for(lambda: not self._n_open, seconds)

    @property
    def asks_for_password(self) -> bool:
        return self._address.password is not None

    def allows(self, path: str, authorization: str) -> bool:
        """Return whether the path or the password is the right one."""
        if self._address.password is not None:
            scheme, _, code = authorization.partition(" ")
            wanted = f"{self._address.user}:{self._address.password}".encode()
            try:
                found = b64decode(code, validate=True)
            except ValueError:
                return False
            return scheme.lower() == "basic" and hmac.compare_digest(found, wanted)
        wanted = self._address.path.encode()
        return not wanted or hmac.compare_digest(path.strip("/").encode(), wanted)

    def answer(self, body: bytes) -> tuple[int, str]:
        """Take a message in, and return the status and the text of its answer."""
        if self.closed:
            return (SHOWN_STATUS, ENDED_TEXT) if self._intake.ended else (503, STOPPED_TEXT)
        try:
            outcome = self._intake.take(body)
            if doubt := self._intake.doubt:
                return SHOWN_STATUS, doubt
        except Hint as hint:
            self._on_skip(hint)
            return SHOWN_STATUS, self._intake.doubt or str(hint)
        except InvalidSample as error:
            self._intake.counts.skipped += 1
            self._on_skip(error)
            return SHOWN_STATUS if "clock" in str(error) else 400, str(error)
        except DeviceError as error:
            self._on_skip(InvalidSample(str(error)))
            self.end_is_known = True
            return SHOWN_STATUS, str(error)
        if outcome is Outcome.FULL:
            return SHOWN_STATUS, FULL_TEXT
        if outcome is Outcome.ENDED:
            self.end_is_known = True
            return SHOWN_STATUS, ENDED_TEXT
        return 200, "[]"

    def page(self, url: str) -> str:
        """Return the page that a browser shows at the address."""
        counts, url = self._intake.counts, self.url() or url
        # The link has no place for a password.
        setup = "" if self.asks_for_password else _setup(self._intake.setup_link(url))
        qr = "" if setup else _qr_code(url)  # one code on a page, so that nobody scans the other
        return PAGE_HTML.format(
            setup=setup, url=escape(url), qr=qr, n=counts.lines, kept=counts.kept
        )


def _setup(link: str) -> str:
    """Return the part of the page that sets up the app by a link; empty where there is none."""
    return SETUP_HTML.format(link=escape(link), qr=_qr_code(link)) if link else ""


def _qr_code(text: str) -> str:
    """Draw a text as an SVG for a phone's camera; empty where the library is not installed."""
    try:
        import segno
    except ModuleNotFoundError:
        return ""
    drawn: str = segno.make(text, error="m").svg_inline(scale=5, border=3, light="#fff")
    return f"<p>For the camera of the phone:</p><p>{drawn}</p>"
