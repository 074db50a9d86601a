"""Where a request comes from: for limits, in memory alone."""

import ipaddress

from starlette.types import Scope


def visitor(scope: Scope) -> str | None:
    """An IPv4 address, or the /64 network of an IPv6 one, which is one household's or more.

    None for this machine, on which something may speak for everybody.

    >>> visitor({"client": ("203.0.113.5", 1)}), visitor({"client": ("2001:db8:1:2:3::4", 1)})
    ('203.0.113.5', '2001:db8:1:2::')
    >>> visitor({"client": ("127.0.0.1", 1)}), visitor({"client": ("::ffff:203.0.113.5", 1)})
    (None, '203.0.113.5')
    """
    host, _ = scope.get("client") or ("", 0)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    if address.is_loopback:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        address = ipaddress.IPv6Address(int(address) >> 64 << 64)
    return str(address)
