"""Connect a device to its server: the interface, and one implementation over HTTPS."""

import http.client
import ipaddress
import ssl
from email.message import Message
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from crowdml.device.contribution import PastError, read_errors
from crowdml.device.network.certificate import trust_only, untrusted_error
from crowdml.device.network.link import split_root
from crowdml.device.network.unreachable import why_unreachable
from crowdml.errors import InvalidInput, Rejected, Unreachable
from crowdml.privacy import Role
from crowdml.protocol import (
    TERMS_HEADER,
    CheckinAnswer,
    Checkout,
    Enrol,
    Enrolled,
    Statistics,
    TaskView,
    read_problem,
)

T = TypeVar("T", bound=msgspec.Struct)

LARGEST_ANSWER = 32 * 2**20


class CheckedOut(NamedTuple):
    """Hold the parameters, and the hash of the terms that the server has now."""

    checkout: Checkout
    terms_sha256: str


class Transport(Protocol):
    """List the calls that a device makes to a server.

    Each call returns the answer, raises `Rejected` when the server said no, or `Unreachable`
    when it may be tried again. `checkin` takes bytes, so that a retry sends the same bytes.
    """

    def task(self) -> TaskView: ...

    def enrol(self, message: Enrol) -> Enrolled: ...

    def checkout(self, token: str, role: Role | None = None) -> "CheckedOut": ...

    def checkin(self, token: str, body: bytes) -> CheckinAnswer: ...

    def leave(self, token: str) -> None: ...

    def export(self) -> bytes: ...

    def close(self) -> None: ...


class HttpTransport:
    """Send JSON over one kept-alive connection.

    It uses the standard library's client, which is synchronous and small, so that a device needs
    little memory.

    Args:
        url: The server's root, `https://host:port`.
        task: The task's name.
        certificate: Trust this certificate (PEM) alone instead of the system's authorities.
        insecure_http: Allow plain HTTP beyond loopback.
        timeout: Seconds to wait for the server.
    """

    def __init__(
        self,
        url: str,
        task: str,
        certificate: str | None = None,
        insecure_http: bool = False,
        timeout: float = 10.0,
    ) -> None:
        self._connection, root = connect(url, certificate, insecure_http, timeout)
        name = quote(task, safe="")
        self._path, self._page = f"{root}/v1/tasks/{name}", f"{root}/tasks/{name}"
        self._checked_out: dict[str, tuple[str | None, Checkout]] = {}

    def task(self) -> TaskView:
        return self._call("GET", "", TaskView)

    def enrol(self, message: Enrol) -> Enrolled:
        return self._call("POST", "/devices", Enrolled, body=msgspec.json.encode(message))

    def checkout(self, token: str, role: Role | None = None) -> CheckedOut:
        """Fetch the parameters for a check-in of this role; unchanged ones are not sent again."""
        path = "/model?role=evaluate" if role is Role.EVALUATE else "/model"
        etag, known = self._checked_out.get(path, (None, None))
        headers = {"If-None-Match": etag} if etag else {}
        status, answered, body = self._request("GET", path, token, None, headers)
        if status != 304 or known is None:
            known = _decode(body, Checkout)
            self._checked_out[path] = answered.get("ETag"), known
        terms_sha256 = answered.get(TERMS_HEADER) or self.task().terms_sha256
        return CheckedOut(known, terms_sha256)

    def checkin(self, token: str, body: bytes) -> CheckinAnswer:
        return self._call("POST", "/checkins", CheckinAnswer, token, body)

    def leave(self, token: str) -> None:
        self._request("DELETE", "/devices/me", token)

    def export(self) -> bytes:
        """Fetch the model as JSON; the caller need not be a device."""
        return self._request("GET", "/export?format=json")[2]

    def statistics(self) -> Statistics:
        """Fetch the task's public statistics; the caller need not be a device."""
        return self._call("GET", "/stats", Statistics)

    def errors(self) -> list[PastError]:
        """Fetch the task's public errors over time; a server without pages has none.

        The whole table is fetched, so that the request does not show which part is of interest.
        """
        try:
            table = self._request("GET", f"{self._page}/charts/error.csv")[2]
        except Rejected:
            return []
        return read_errors(table)

    def close(self) -> None:
        self._connection.close()

    def _call(
        self, method: str, path: str, type: type[T], token: str | None = None, body: bytes = b""
    ) -> T:
        _, _, answer = self._request(method, path, token, body or None)
        return _decode(answer, type)

    def _request(
        self,
        method: str,
        path: str,
        token: str | None = None,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Message, bytes]:
        """Return status, headers and body; reopen a kept-alive connection that was closed."""
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        fresh = self._connection.sock is None
        try:
            return self._exchange(method, path, body, headers)
        except (ConnectionError, http.client.HTTPException) as error:
            self._connection.close()
            if fresh:
                raise Unreachable(f"cannot reach the server: {why_unreachable(error)}.") from error
        except ssl.SSLCertVerificationError as error:
            self._connection.close()
            raise untrusted_error(error) from error
        except OSError as error:
            self._connection.close()
            raise Unreachable(f"cannot reach the server: {why_unreachable(error)}.") from error
        return self._request(method, path, token, body, headers)

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, Message, bytes]:
        whole = path if path.startswith(self._page) else self._path + path
        self._connection.request(method, whole, body, headers)
        response = self._connection.getresponse()
        answer = response.read(LARGEST_ANSWER + 1)
        if len(answer) > LARGEST_ANSWER:
            self._connection.close()
            raise Unreachable(f"an answer must have at most {LARGEST_ANSWER:,} bytes, found more.")
        if response.status >= 500:
            problem = read_problem(response.status, answer)
            raise Unreachable(problem.detail, problem.extra.get("retry_after"))
        if response.status >= 400:
            raise read_problem(response.status, answer)
        return response.status, response.headers, answer


def connect(
    url: str, certificate: str | None, insecure_http: bool, timeout: float
) -> tuple[http.client.HTTPConnection, str]:
    """Return a connection to a server's root, opened on first use, and the root's path.

    Args:
        certificate: Trust this certificate (PEM) alone instead of the system's authorities.
        insecure_http: Allow plain HTTP beyond loopback.
    """
    scheme, host, port, path = split_root(url)
    if scheme == "http" and not (insecure_http or _is_loopback(host)):
        raise InvalidInput(
            f"plain HTTP is for loopback only, found {url!r}. Use https, or allow insecure "
            "HTTP by name."
        )
    path = path.rstrip("/")
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=timeout), path
    context = trust_only(certificate) if certificate else ssl.create_default_context()
    return http.client.HTTPSConnection(host, port, timeout=timeout, context=context), path


def _decode(body: bytes, type: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreachable(f"the server's answer makes no sense: {error}.") from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
