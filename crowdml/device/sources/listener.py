"""Listening for the messages that sensor apps post, on a machine of the participant."""

import hmac
import socket
import ssl
import threading
from base64 import b64decode
from collections.abc import Callable
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from crowdml.device.outcome import Outcome
from crowdml.device.sources.address import ListenAddress
from crowdml.device.sources.intake import Hint, Intake
from crowdml.errors import DeviceError, InvalidInput, InvalidSample

LARGEST = 2**22
"""Bytes of a message: no message may use up the device's memory."""

MOST_CONNECTIONS = 16
TIMEOUT = 30.0
KNOW = 499
"""The status with which Sensor Logger shows the answer's text to the person."""

FULL = (
    "This device has no room for more samples until it has reached its server, or its limit on ε "
    "is raised."
)
ENDED = "The task is over for this device: you can stop recording."
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>crowdml device</title>
<style>body{{font:1.1rem/1.5 sans-serif;max-width:34rem;margin:1rem auto;padding:0 1rem}}
code{{display:block;padding:.6rem;background:#eee;overflow-wrap:anywhere;user-select:all}}</style>
<h1>This device listens</h1><p>Copy this address into the app. In Sensor Logger it is the
<b>Push URL</b> under <b>HTTP Push</b>, behind the gear on the Logger page:</p>
<code>{url}</code>{qr}
<p>Messages received so far: {n}. Samples kept: {kept}.</p></html>
"""


class Listener:
    """An HTTP server in threads of its own, for `Intake`.

    A message is answered with 200 when its readings are on this machine's disk, and with 499 and
    a sentence where the person should know something.

    Args:
        tls: The certificate and key to serve, if any.
        on_skip: Called with what was wrong with a message.

    Attributes:
        url: The address for the app, where it is known; otherwise a browser shows its own.
    """

    def __init__(
        self,
        address: ListenAddress,
        intake: Intake,
        tls: ssl.SSLContext | None = None,
        on_skip: Callable[[InvalidSample], None] = lambda error: None,
    ) -> None:
        self._address = address
        self.url = ""
        self._intake = intake
        self._on_skip = on_skip
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        listener = self

        class Handler(_Handler):
            owner = listener

        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        kind = type("Server", (_Server,), {"address_family": family})
        try:
            self._server = kind((address.host, address.port), Handler, self._places, tls)
        except (OSError, OverflowError) as error:
            raise InvalidInput(
                f"cannot listen on {address.host}:{address.port}: {error}. Name another port."
            ) from error
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def poll(self, seconds: float) -> bool:
        self._intake.wait_for_a_sample(seconds)
        return True

    def close(self) -> None:
        """Answer no more messages."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def asks_for_password(self) -> bool:
        return self._address.password is not None

    def allows(self, path: str, authorization: str) -> bool:
        """Whether the path or the password is the right one."""
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
        """Take a message in, and say what became of it."""
        try:
            outcome = self._intake.take(body)
        except Hint as hint:
            self._on_skip(hint)
            return KNOW, str(hint)
        except InvalidSample as error:
            self._intake.fed.skipped += 1
            self._on_skip(error)
            return KNOW if "clock" in str(error) else 400, str(error)
        except DeviceError as error:
            self._on_skip(InvalidSample(str(error)))
            return KNOW, str(error)
        if outcome is Outcome.FULL:
            return KNOW, FULL
        return (KNOW, ENDED) if outcome is Outcome.ENDED else (200, "[]")

    def page(self, url: str) -> str:
        """What a browser shows that opens the address."""
        fed, url = self._intake.fed, self.url or url
        return PAGE.format(url=escape(url), qr=_qr_code(url), n=fed.lines, kept=fed.kept)


def _qr_code(url: str) -> str:
    """An SVG of the address for a phone's camera; nothing where the library is not installed."""
    try:
        import segno
    except ModuleNotFoundError:
        return ""
    drawn: str = segno.make(url, error="m").svg_inline(scale=5, border=3, light="#fff")
    return f"<p>For the camera of the phone:</p><p>{drawn}</p>"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # an app may keep its connection open for ever
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        places: threading.BoundedSemaphore,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._places, self._tls = places, tls
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            request.settimeout(TIMEOUT)
            if self._tls:
                # In this thread: a client that does not go on with its handshake holds up no other.
                request = self._tls.wrap_socket(request, server_side=True)
            super().process_request_thread(request, client_address)
        except OSError:
            self.shutdown_request(request)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # the connection broke; the app sends the message again, or not


class _Handler(BaseHTTPRequestHandler):
    owner: Listener
    protocol_version = "HTTP/1.1"
    timeout = TIMEOUT
    wbufsize = -1  # an answer in one packet: otherwise each would wait for an acknowledgement
    disable_nagle_algorithm = True
    server_version, sys_version = "crowdml", ""

    def do_POST(self) -> None:
        size = self._size()
        if size is None:
            return
        body = self.rfile.read(size)
        if self._is_allowed():
            self._answer(*self.owner.answer(body))

    def do_GET(self) -> None:
        if self._is_allowed():
            scheme = "https" if isinstance(self.connection, ssl.SSLSocket) else "http"
            host = self.headers.get("Host") or f"HOST:{self.owner.port}"
            self._answer(200, self.owner.page(f"{scheme}://{host}{self.path}"), "text/html")

    def _size(self) -> int | None:
        """Return the number of bytes to read, or answer why none are."""
        given = self.headers.get("Content-Length") or ""
        if not (given.isascii() and given.isdigit()):
            self._refuse(411, "A message must say how long it is.")
        elif int(given[:20]) > LARGEST:
            self._refuse(413, f"A message may have {LARGEST:,} bytes. Send more often.")
        else:
            return int(given)
        return None

    def _is_allowed(self) -> bool:
        # Pages of other sites that are open in a browser here may post too; browsers name them.
        if self.headers.get("Origin"):
            self._refuse(403, "Web pages may not send messages.")
        elif not self.owner.allows(self.path, self.headers.get("Authorization") or ""):
            self._refuse(404, "Not found: look at the address.")
        else:
            return True
        return False

    def _refuse(self, status: int, text: str) -> None:
        self.close_connection = True
        self._answer(status, text)

    def _answer(self, status: int, text: str, kind: str = "text/plain") -> None:
        body = text.encode()
        if status == 404 and self.owner.asks_for_password:
            status = 401
        self.send_response(status, "See the text" if status == KNOW else None)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="crowdml"')
        kind = "application/json" if text == "[]" else f"{kind}; charset=utf-8"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass
