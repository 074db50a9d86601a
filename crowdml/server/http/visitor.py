"""Identify where a request comes from: for limits, in memory only."""

import ipaddress
from functools import lru_cache

from starlette.types import Scope


def visitor_of(scope: Scope) -> str | None:
    """Return an IPv4 address, or the /64 network of an IPv6 address: one household or more.

    None for loopback: a local proxy forwards requests for many visitors.

    >>> visitor_of({"client": ("203.0.113.5", 1)}), visitor_of({"client": ("2001:db8:1:2:3::4", 1)})
    ('203.0.113.5', '2001:db8:1:2::')
    >>> visitor_of({"client": ("127.0.0.1", 1)}), visitor_of({"client": ("::ffff:203.0.113.5", 1)})
    (None, '203.0.113.5')
    """
    host, _ = scope.get("client") or ("", 0)
    return _visitor(host)


@lru_cache(maxsize=4096)
def _visitor(host: str) -> str | None:
    network = network_of(host)
    return network if network and not ipaddress.ip_address(network).is_loopback else None


def network_of(host: str) -> str | None:
    """Return an IPv4 address, or the /64 network of an IPv6 address; None if `host` is neither.

    >>> network_of("::ffff:203.0.113.5"), network_of("::1"), network_of("somewhere")
    ('203.0.113.5', '::1', None)
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    if isinstance(address, ipaddress.IPv6Address) and not address.is_loopback:
        address = ipaddress.IPv6Address(int(address) >> 64 << 64)
    return str(address)
