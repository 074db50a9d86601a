"""Run a live crowd on one machine, and launch servers in their own processes.

`crowdml demo` calls this package; benchmarks and tests use its `ServerProcess`. The server and the
devices of a demo are the real ones, so nothing here may work around them.
"""

from typing import TYPE_CHECKING

from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.demo.demo import Demo, run_demo
    from crowdml.demo.launcher import HUNG_AFTER_SECONDS, ServerProcess
    from crowdml.demo.ports import free_port
    from crowdml.demo.result import DemoResult

__all__ = [
    "HUNG_AFTER_SECONDS",
    "Demo",
    "DemoResult",
    "ServerProcess",
    "free_port",
    "run_demo",
]

# The launcher does not need the libraries that the crowd needs.
__getattr__ = lazy(__name__)
