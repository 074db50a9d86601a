"""A server in a process of its own: `python serving.py '{"database": …, "port": …}'`.

While the file named by `fail_writes` exists, nothing can be stored: a disk full on demand.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crowdml.server import Address, Settings, Store
from crowdml.server.database.log import Log
from crowdml.server.database.nodes import Nodes
from crowdml.server.operation.serve import serve

FULL = "no space left on device"


def main() -> None:
    options = json.loads(sys.argv[1])
    if options["fail_writes"]:
        break_writes(Path(options["fail_writes"]))
    serve(Settings(**options["settings"]), Address(**options["address"]))


def break_writes(flag: Path) -> None:
    writers = (Store, "enrol"), (Store, "set_device_status"), (Nodes, "write")
    for owner, name in writers:
        setattr(owner, name, unless(flag, getattr(owner, name)))
    appending = Log.appending

    @contextmanager
    def failing(log: Log, seq: int) -> Iterator[Any]:
        """At the commit, when all is written and folded."""
        with appending(log, seq) as news:
            yield news
            if flag.exists():
                raise OSError(FULL)

    setattr(Log, "appending", failing)  # noqa: B010


def unless(flag: Path, method: Callable[..., Any]) -> Callable[..., Any]:
    def failing(self: object, *arguments: Any) -> Any:
        if flag.exists():
            raise OSError(FULL)
        return method(self, *arguments)

    return failing


if __name__ == "__main__":
    main()
