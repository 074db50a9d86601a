"""Reserve ports of this machine for servers that are about to start."""

import atexit
import itertools
import socket
from functools import cache

from crowdml.errors import CrowdmlError

FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Ports to reserve, below those of outgoing connections, which would sometimes take one."""

PORTS_PER_BLOCK = 100


def free_port() -> int:
    """Return a port on loopback that no other caller gets, in this process or another one.

    The server that is to listen there may start seconds later. Each process therefore claims a
    block of ports by binding its first one for as long as the process lives, and gives out the
    other ports in turn.
    """
    first = _claim().getsockname()[1]
    for _ in range(PORTS_PER_BLOCK):
        port = first + 1 + next(_turns()) % (PORTS_PER_BLOCK - 1)
        if (bound := _bound(port)) is not None:
            bound.close()
            return int(port)
    last = first + PORTS_PER_BLOCK - 1
    raise CrowdmlError(f"all ports from {first} to {last} are in use. Stop some servers.")


@cache
def _claim() -> socket.socket:
    for first in range(FIRST_PORT, LAST_PORT, PORTS_PER_BLOCK):
        claim = _bound(first)
        if claim is not None:
            atexit.register(claim.close)
            return claim
    raise CrowdmlError(
        f"no block of ports from {FIRST_PORT} to {LAST_PORT} is free. Stop some servers."
    )


@cache
def _turns() -> "itertools.count[int]":
    return itertools.count()


def _bound(port: int) -> socket.socket | None:
    """Return a socket that is bound to this port; None if another socket is."""
    bound = socket.socket()
    try:
        bound.bind(("127.0.0.1", port))
    except OSError:
        bound.close()
        return None
    return bound
