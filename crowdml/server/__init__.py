"""Run Algorithm 2: check-out, check-in, one durable log and one fold over it.

Each sub-package imports only those after it: `operation`, `http`, `service`, `results`, `log`,
`database`. Devices reach the server through the routes alone, the portal also through `service`.
"""

from typing import TYPE_CHECKING

from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.server.content_coding import best_coding
    from crowdml.server.database import Store
    from crowdml.server.operation import BindAddress
    from crowdml.server.settings import Settings

__all__ = [
    "BindAddress",
    "Settings",
    "Store",
    "best_coding",
]

# The fold is a pure function of the log: importing it must not import a database.
__getattr__ = lazy(__name__)
