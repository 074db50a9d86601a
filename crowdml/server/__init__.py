"""Run Algorithm 2: check-out, check-in, one durable log and one fold over it."""

from typing import TYPE_CHECKING

from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.server.compression import best_coding
    from crowdml.server.database import Store
    from crowdml.server.operation import Address
    from crowdml.server.settings import Settings

__all__ = [
    "Address",
    "Settings",
    "Store",
    "best_coding",
]

# The fold is a pure function of the log: importing it must not import a database.
__getattr__ = lazy(__name__)
