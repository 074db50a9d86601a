"""Determine how visitors reach this server, possibly through a proxy."""

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from crowdml.errors import InvalidInput

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")
PAIR = re.compile(r'(proto|host)="?([^";,\s]+)', re.IGNORECASE)
"""A scheme or host in a `Forwarded` header (RFC 7239)."""


@dataclass(frozen=True)
class PublicAddress:
    """Describe what people and devices see of the server from outside.

    Args:
        url: What links and QR codes begin with; None for the address of each request.
        proxies: Addresses and networks, separated by commas, whose word on scheme,
            host and visitor counts.
        fingerprint: The certificate's fingerprint, where people have to compare it.

    >>> PublicAddress("https://example.org/crowd/").prefix
    '/crowd'
    """

    url: str | None = None
    proxies: str = ""
    fingerprint: str | None = None

    def __post_init__(self) -> None:
        if self.url is not None and not _is_public(self.url):
            raise InvalidInput(
                f"a public URL must be https://HOST or https://HOST/PATH, found {self.url!r}."
            )
        _ = self._networks

    @cached_property
    def prefix(self) -> str:
        """Return the path under which all pages are, such as /crowd."""
        return urlsplit(self.url or "").path.rstrip("/")

    @property
    def origin(self) -> str | None:
        return self.url and "{0.scheme}://{0.netloc}".format(urlsplit(self.url))

    def root(self, request: Request) -> str:
        """Return the address of the front page, without a final slash, for commands and QR codes.

        Without a public URL it is the address that the visitor used.
        """
        return (self.url or str(request.base_url)).rstrip("/")

    def link(self, path: str) -> str:
        """Return the target of a link on a page: the public URL, or a path on this server.

        A `Host` header never decides a link, because a cache could show it to somebody else.

        >>> PublicAddress().link("/join/walks"), PublicAddress("https://example.org/crowd").link("/join/walks")
        ('/join/walks', 'https://example.org/crowd/join/walks')
        """
        return (self.url or "").rstrip("/") + path

    @cached_property
    def _networks(self) -> list[Network]:
        try:
            return [ipaddress.ip_network(each.strip()) for each in self.proxies.split(",") if each]
        except ValueError as error:
            raise InvalidInput(
                f"a proxy to trust must be an address or a network such as 10.0.0.0/8, found "
                f"{self.proxies!r}: {error}."
            ) from error

    def trusts(self, address: str) -> bool:
        peer = ipaddress.ip_address(address)
        peer = getattr(peer, "ipv4_mapped", None) or peer
        return any(peer in network for network in self._networks)


class ProxyRestorer:
    """Restore each request to what its sender sent to the proxy, without the prefix in its path.

    Of several proxies only the last one connects to this server, so only its headers can be
    trusted.
    """

    def __init__(self, app: ASGIApp, public_address: PublicAddress) -> None:
        self._app, self._public_address = app, public_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path, prefix = scope["path"], self._public_address.prefix
            if path == prefix or path.startswith(f"{prefix}/"):
                scope["path"] = path[len(prefix) :] or "/"
            client = scope.get("client")
            if client and self._public_address.trusts(client[0]):
                scope.update(_as_sent(scope))
        await self._app(scope, receive, send)


def _as_sent(scope: Scope) -> Iterator[tuple[str, Any]]:
    said = dict(_forwarded(scope["headers"]))
    if said.get("proto") in ("http", "https"):
        yield "scheme", said["proto"]
    if "for" in said:
        yield "client", (said["for"], 0)
    if "host" in said:
        others = [pair for pair in scope["headers"] if pair[0] != b"host"]
        yield "headers", [*others, (b"host", said["host"].encode("latin-1"))]


def _forwarded(headers: list[tuple[bytes, bytes]]) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        last = value.decode("latin-1").rpartition(",")[2].strip()
        if name in (b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-for"):
            yield name.decode().removeprefix("x-forwarded-"), last
        elif name == b"forwarded":
            yield from ((key.lower(), found) for key, found in PAIR.findall(last))


def _is_public(url: str) -> bool:
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return False
    plain = f"{parts.scheme}://{parts.netloc}{parts.path}" == url and "@" not in parts.netloc
    return bool(fine and plain and PATH.fullmatch(parts.path.rstrip("/")))
