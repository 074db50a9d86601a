"""Decide who may read the metrics."""

import hmac
import ipaddress

from starlette.types import Scope

from crowdml.server.http.checkin import bearer_token

FORWARDED = (b"forwarded", b"via", b"x-forwarded-", b"x-real-ip", b"x-client-ip", b"cf-")
"""How the headers begin that a proxy adds."""


def may_read_metrics(scope: Scope, token: str | None, behind: bool = False) -> bool:
    """Return whether a request has the token, or without a token comes from this machine.

    Behind a proxy on this machine every request comes from this machine, so only a token counts:
    where a proxy is known (`behind`), and where a request has a proxy's header.
    """
    if token is not None:
        given = (bearer_token(scope) or "").encode("latin-1")
        return hmac.compare_digest(given, token.encode())
    host, _ = scope.get("client") or ("", 0)
    forwarded = any(name.lower().startswith(FORWARDED) for name, _ in scope["headers"])
    return is_loopback(host) and not forwarded and not behind


def is_loopback(host: str) -> bool:
    """Return whether a host name or address means this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
