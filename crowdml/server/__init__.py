"""Algorithm 2: check-out, check-in, one durable log and one fold over it."""

from crowdml.server.process import ServerProcess
from crowdml.server.serve import Address, free_port, serve
from crowdml.server.settings import Settings
from crowdml.server.store import Store

__all__ = ["Address", "ServerProcess", "Settings", "Store", "free_port", "serve"]
