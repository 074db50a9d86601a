"""crowdml: learning from a crowd's devices without taking the crowd's data.

>>> import crowdml
>>> crowdml.Device                          # doctest: +ELLIPSIS
<class 'crowdml.device.device.Device'>
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

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

_HOMES = {
    "CrowdmlError": "crowdml.errors",
    "Device": "crowdml.device",
    "Ledger": "crowdml.privacy",
    "Limits": "crowdml.privacy",
    "Outcome": "crowdml.device",
    "Task": "crowdml.protocol",
    "Terms": "crowdml.protocol",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package is quick."""
    if name == "__version__":
        return version("crowdml")
    try:
        return getattr(import_module(_HOMES[name]), name)
    except KeyError:
        raise AttributeError(f"module 'crowdml' has no attribute {name!r}") from None
