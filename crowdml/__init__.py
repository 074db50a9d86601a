"""Learning from a crowd's devices without taking the crowd's data.

A device takes part in three lines:

```python
from crowdml import Device

device = Device.join("https://crowd.example", "steps")
device.add(x, y)
device.leave()
```

| | |
|---|---|
| `crowdml.device` | a device: its file, its ledger, the way to the server |
| `crowdml.models`, `crowdml.optim` | what is learnt, and how the server steps |
| `crowdml.privacy` | the mechanisms, exact randomness, what each costs, the ledger |
| `crowdml.protocol` | tasks, terms and messages, where device and server meet |
| `crowdml.server` | a server in a process of its own, and its database |
| `crowdml.simulation` | a crowd in arrays: whether it will learn, before it exists |
| `crowdml.learnt` | the model that was learnt, as a file and as an estimator |
| `crowdml.sklearn`, `crowdml.flower` | a simulated crowd as an estimator; Flower's clients |
| `crowdml.checks` | suites that your own model, optimizer or mechanism must pass |
| `crowdml.errors` | every error on purpose, drawn as a tree |

Arrays are NumPy's: `crowdml.types` has their kinds. A name is loaded when it is first used, so that
a device needs nothing of what a server needs.
"""

# Nothing is imported here: a Ctrl-C would find the command unprepared (crowdml/__main__.py).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from crowdml.device import Device, Outcome, load_model
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
    "load_model",
]


def __getattr__(name: str) -> "Any":
    if name == "__version__":
        from importlib.metadata import version

        return version("crowdml")
    from crowdml.lazy import lazy

    return lazy(__name__)(name)


def __dir__() -> list[str]:
    return __all__
