"""Run a server in its own process, forked from a process that has imported what servers need.

While the file named by `fail_writes` exists, nothing can be stored, as on a full disk.
"""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crowdml.cli import main
from crowdml.server import BindAddress, Settings, Store
from crowdml.server.database.log import Log
from crowdml.server.database.nodes import Nodes
from crowdml.server.operation.serve import serve

FULL = "no space left on device"


NURSERY = multiprocessing.get_context("forkserver")
NURSERY.set_forkserver_preload(["tests.support.preloaded"])


class Forked:
    """Wrap a process in the part of the interface of `subprocess.Popen` that `ServerProcess` uses.

    Args:
        work: What the process does.
        folder: Where the process runs.
        output: The file to which it prints.
    """

    def __init__(self, work: Callable[[], None], folder: Path, output: Path) -> None:
        asked = work, dict(os.environ), folder, output
        self._process = NURSERY.Process(target=_run, args=asked, daemon=True)
        self._process.start()
        assert self._process.pid
        self.pid = self._process.pid
        self.kill, self.terminate = self._process.kill, self._process.terminate

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired("serving", timeout or 0.0)
        return code


def _run(work: Callable[[], None], environment: dict[str, str], folder: Path, output: Path) -> None:
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    with output.open("ab") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
    work()


def run_command(begin: Callable[[], None], arguments: list[str]) -> None:
    """Run `crowdml` as its command line would."""
    begin()
    sys.argv = ["crowdml", *arguments]
    main()


def run_breakable(begin: Callable[[], None], options: dict[str, Any]) -> None:
    """Serve, with the arguments of `Settings` and `BindAddress`; `fail_writes` names the flag."""
    begin()
    break_writes(Path(options["fail_writes"]))
    serve(Settings(**options["settings"]), BindAddress(**options["address"]))


def break_writes(flag: Path) -> None:
    writers = (Store, "enrol"), (Store, "set_device_status"), (Nodes, "write")
    for owner, name in writers:
        setattr(owner, name, unless(flag, getattr(owner, name)))
    appending = Log.appending

    @contextmanager
    def failing(log: Log, seq: int) -> Iterator[Any]:
        """Fail at the commit, when everything is written and folded."""
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
