"""crowdml: learning from a crowd's devices without taking the crowd's data.

>>> import crowdml
>>> crowdml.Device                          # doctest: +ELLIPSIS
<class 'crowdml.device.device.Device'>
"""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.device import Device, Outcome
    from crowdml.errors import CrowdmlError
    from crowdml.privacy import Ledger, Limits
    from crowdml.protocol import Task, Terms

    __version__: str

__all__ = [
    "CrowdmlError",
    "Device",
    "Ledger",
    "Limits",
    "Outcome",
    "Task",
    "Terms",
    "__version__",
]

_load = lazy(
    __name__,
    {
        "CrowdmlError": "crowdml.errors",
        "Device": "crowdml.device",
        "Ledger": "crowdml.privacy",
        "Limits": "crowdml.privacy",
        "Outcome": "crowdml.device",
        "Task": "crowdml.protocol",
        "Terms": "crowdml.protocol",
    },
)


def __getattr__(name: str) -> Any:
    return version("crowdml") if name == "__version__" else _load(name)
