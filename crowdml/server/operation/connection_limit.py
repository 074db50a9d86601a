"""Close surplus connections of addresses that hold too many."""

import asyncio
import logging
import os
import socket
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing, suppress
from typing import NamedTuple

from crowdml.server.http import network_of

logger = logging.getLogger("crowdml.server")
LOOK_SECONDS = 0.5
"""Seconds between two looks at who is connected."""

PAUSE_FACTOR, LONGEST_PAUSE = 50, 2.0
"""A look that finds nothing to close is followed by a pause of `PAUSE_FACTOR` times the look's
duration, at most `LONGEST_PAUSE` seconds."""

OPEN_FILES = "/dev/fd"
"""One entry for each open file of this process, on Linux and on macOS."""


class Peer(NamedTuple):
    """Identify the other end of a connection by address and port."""

    host: str
    port: int


class ConnectionLimit:
    """Limit the connections to one port of this process.

    The HTTP server accepts connections before it sees a request, and does not report silent ones.
    The system lists all of them as open files of this process.

    Args:
        port: The port that this server listens on.
        most: Connections that one address may have; of IPv6, one /64 network.
        exempt: Whether connections of an address are not limited, as those of a trusted proxy.
    """

    def __init__(self, port: int, most: int, exempt: Callable[[str], bool]) -> None:
        self._port, self._most, self._exempt = port, most, exempt

    async def watch(self) -> None:
        """Close surplus connections, until cancelled."""
        if not os.path.isdir(OPEN_FILES):
            logger.warning(
                "connections of an address are not limited, since there is no %s", OPEN_FILES
            )
            return
        seconds = 0.0
        while True:
            await asyncio.sleep(max(LOOK_SECONDS, PAUSE_FACTOR * seconds))
            began = time.monotonic()
            closed = await asyncio.to_thread(self.close_surplus)
            # Look often under attack; with many harmless connections, look rarely.
            seconds = 0.0 if closed else min(time.monotonic() - began, LONGEST_PAUSE / PAUSE_FACTOR)

    def close_surplus(self) -> int:
        """Close the newest connections of every address that has too many, and count them."""
        files = os.listdir(OPEN_FILES)
        if len(files) <= self._most:
            return 0
        by_network: dict[str, list[tuple[int, Peer]]] = defaultdict(list)
        for file in map(int, files):
            peer = self._peer(file)
            network = network_of(peer.host) if peer else None
            if peer and network:
                by_network[network].append((file, peer))
        return sum(
            self._close(file, peer)
            for opened in by_network.values()
            if len(opened) > self._most
            for file, peer in self._surplus(opened)
        )

    def _surplus(self, opened: list[tuple[int, Peer]]) -> list[tuple[int, Peer]]:
        """List the newest connections of one network beyond its limit.

        A new connection gets the lowest free number, so the highest numbers are mostly the newest.
        """
        limited = [(file, peer) for file, peer in opened if not self._exempt(peer.host)]
        return sorted(limited)[self._most :]

    def _peer(self, file: int) -> Peer | None:
        """Return the other end of an open file; None if it is not a connection to this server."""
        try:
            connection = socket.socket(fileno=file)
        except OSError:
            return None
        try:
            ours = connection.family in (socket.AF_INET, socket.AF_INET6)
            if not ours or connection.getsockname()[1] != self._port:
                return None
            return Peer(*connection.getpeername()[:2])
        except OSError:
            return None
        finally:
            # The file belongs to the HTTP server, which closes it.
            connection.detach()

    def _close(self, file: int, peer: Peer) -> bool:
        """Shut a connection down, unless its file number now belongs to another connection."""
        with suppress(OSError), closing(socket.socket(fileno=os.dup(file))) as connection:
            if Peer(*connection.getpeername()[:2]) == peer:
                connection.shutdown(socket.SHUT_RDWR)
                return True
        return False
