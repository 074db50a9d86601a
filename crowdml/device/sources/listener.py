"""Listen on the participant's own machine for the messages that sensor apps post."""

import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from crowdml.device.sources.address import ListenAddress
from crowdml.device.sources.intake import Intake
from crowdml.device.sources.message_receiver import SHOWN_STATUS, MessageReceiver
from crowdml.errors import InvalidInput, InvalidSample

LARGEST_MESSAGE = 2**22
"""The most bytes of a message, so that no message uses up the device's memory."""

MOST_CONNECTIONS = 16
TIMEOUT_SECONDS = 30.0


class Listener(MessageReceiver):
    """Run an HTTP server in separate threads, and answer requests as `MessageReceiver` decides.

    Args:
        tls: The certificate and key to serve, if any.
    """

    def __init__(
        self,
        address: ListenAddress,
        intake: Intake,
        tls: ssl.SSLContext | None = None,
        on_skip: Callable[[InvalidSample], None] = lambda error: None,
    ) -> None:
        super().__init__(address, intake, on_skip)
        self._slots = threading.BoundedSemaphore(MOST_CONNECTIONS)
        listener = self

        class Handler(RequestHandler):
            receiver = listener

        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        kind = type("Server", (_Server,), {"address_family": family})
        try:
            self._server = kind((address.host, address.port), Handler, self._slots, tls)
        except (OSError, OverflowError) as error:
            raise InvalidInput(
                f"cannot listen on {address.host}:{address.port}: {error}. Name another port."
            ) from error
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def poll(self, seconds: float) -> bool:
        self._intake.wait_for_a_sample(seconds)
        return True

    def close(self) -> None:
        """Take no more messages, also on open connections, and answer those that have arrived."""
        self.closed = True
        self._server.shutdown()
        self.wait_for_answers(TIMEOUT_SECONDS)
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # an app may never close its connection
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        slots: threading.BoundedSemaphore,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._slots, self._tls = slots, tls
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._slots.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            request.settimeout(TIMEOUT_SECONDS)
            if self._tls:
                # Handshake in this thread, so that a client that stops in its handshake delays no
                # other client.
                request = self._tls.wrap_socket(request, server_side=True)
            super().process_request_thread(request, client_address)
        except OSError:
            self.shutdown_request(request)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # the connection broke; the app may send the message again


class RequestHandler(BaseHTTPRequestHandler):
    """Read one request after another from a connection, and write the receiver's answers."""

    receiver: MessageReceiver
    protocol_version = "HTTP/1.1"
    timeout = TIMEOUT_SECONDS
    wbufsize = -1  # send an answer in one packet: a second packet would wait for an acknowledgement
    disable_nagle_algorithm = True
    server_version, sys_version = "crowdml", ""

    def do_POST(self) -> None:
        size = self._size()
        if size is None:
            return
        body = self.rfile.read(size)
        if self._is_allowed():
            with self.receiver.answering():
                self.close_connection |= self.receiver.closed
                self._answer(*self.receiver.answer(body))

    def do_GET(self) -> None:
        if self._is_allowed():
            scheme = "https" if isinstance(self.connection, ssl.SSLSocket) else "http"
            host = self.headers.get("Host") or f"HOST:{self.receiver.port}"
            self._answer(200, self.receiver.page(f"{scheme}://{host}{self.path}"), "text/html")

    def _size(self) -> int | None:
        """Return the number of bytes to read, or answer with an error and return None."""
        given = self.headers.get("Content-Length") or ""
        if not (given.isascii() and given.isdigit()):
            self._reject(411, "A message must have a Content-Length, found none. Send one.")
            return None
        digits = given.lstrip("0") or "0"
        # Check the number of digits first: Python reads thousands of digits slowly.
        if len(digits) > len(str(LARGEST_MESSAGE)) or int(digits) > LARGEST_MESSAGE:
            self._reject(
                413, f"A message must have at most {LARGEST_MESSAGE:,} bytes. Send more often."
            )
            return None
        return int(digits)

    def _is_allowed(self) -> bool:
        # Pages of other sites in a browser on this machine may post too; browsers name the site.
        if self.headers.get("Origin"):
            self._reject(403, "Web pages may not send messages.")
        elif not self.receiver.allows(self.path, self.headers.get("Authorization") or ""):
            if self.receiver.asks_for_password:
                self._reject(401, "The app must send this device's user name and password.")
            else:
                self._reject(404, "Not found: look at the address.")
        else:
            return True
        return False

    def _reject(self, status: int, text: str) -> None:
        self.close_connection = True
        self._answer(status, text)

    def _answer(self, status: int, text: str, kind: str = "text/plain") -> None:
        body = text.encode()
        self.send_response(status, "See the text" if status == SHOWN_STATUS else None)
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
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        pass
