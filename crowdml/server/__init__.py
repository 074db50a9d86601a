"""Algorithm 2: check-out, check-in, one durable log and one fold over it."""

from typing import TYPE_CHECKING

from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.server.process import ServerProcess
    from crowdml.server.serve import Address, free_port
    from crowdml.server.settings import Settings
    from crowdml.server.store import Store

__all__ = ["Address", "ServerProcess", "Settings", "Store", "free_port"]

# The fold is a pure function of the log: whoever imports it gets no database with it.
__getattr__ = lazy(
    __name__,
    {
        "Address": "crowdml.server.serve",
        "ServerProcess": "crowdml.server.process",
        "Settings": "crowdml.server.settings",
        "Store": "crowdml.server.store",
        "free_port": "crowdml.server.serve",
    },
)
