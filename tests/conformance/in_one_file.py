"""Run the one-file device's program in this process, with a clock that the test sets.

Where the program would sleep until the next attempt, it is killed instead. The test then knows how
long it would have slept, and the next run is what a new process does.
"""

import io
import itertools
import json
import shutil
import sqlite3
import sys
import time
from contextlib import ExitStack, closing, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from crowdml import one_file_device as standalone
from tests.conformance.scene import RETRY_AFTER, Scene
from tests.conformance.table import Seen
from tests.support.servers import LABELS

LONGEST_REST = 0.2
"""The longest rest before a check-in is sent, in seconds; pauses between attempts are longer."""


class Killed(BaseException):
    """Ends the program as a signal would: nothing in the program catches it."""


class OneFileDevice:
    name = "standalone"

    def __init__(self, url: str, scene: Scene, folder: Path) -> None:
        self.scene, self.url = scene, url
        self.file, self.source = folder / "device.sqlite", folder / "samples.csv"
        self.copy = folder / "copy"
        self.slept: float | None = None
        self.took, self.rests = 0.0, list[float]()
        self.code, self.said = 0, ""

    def run(self, *arguments: str) -> None:
        """Return what the program says and its exit code, or how long it was going to sleep."""
        said, opened = io.TextIOWrapper(io.BytesIO(), "utf-8"), list[standalone.DeviceStore]()

        class DeviceStore(standalone.DeviceStore):
            def __init__(self, path: str) -> None:
                super().__init__(path)
                opened.append(self)

        def sleep(seconds: float) -> None:
            if seconds > LONGEST_REST:
                self.slept = seconds
                raise Killed
            self.rests.append(seconds)

        self.slept, self.code = None, -9
        # Each look at the clock advances it a little.
        times = itertools.count(0.0, self.took)
        clock = SimpleNamespace(monotonic=lambda: next(times), sleep=sleep, strftime=time.strftime)
        argv = ["device.py", *arguments, "--file", str(self.file)]
        try:
            with ExitStack() as stack:
                stack.enter_context(patch.object(standalone, "time", clock))
                stack.enter_context(patch.object(standalone, "DeviceStore", DeviceStore))
                stack.enter_context(patch.object(sys, "argv", argv))
                stack.enter_context(redirect_stdout(said))
                stack.enter_context(redirect_stderr(said))
                self.code = standalone.main()
        except Killed:
            pass
        finally:
            for store in opened:
                store.db.close()
        said.seek(0)
        self.said = said.read()

    def join(self, limit: float | None = None) -> None:
        assert limit is None
        self.run("join", f"{self.url}/join/{self.scene.name}", "--yes")
        assert self.code == 0, self.said

    def feed(self, n: int) -> None:
        with self.source.open("a") as file:
            file.writelines(f"0.1,0.2,0.3,0.4,{LABELS[i % 3]}\n" for i in range(n))
        self.run("run", "--source", str(self.source), "--wait", "86400")

    def run_once(self) -> None:
        """Give the program a minibatch, and let it try once."""
        with self.source.open("a") as file:
            file.writelines(f"0.1,0.2,0.3,0.4,{LABELS[i % 3]}\n" for i in range(3))
        self.run("run", "--source", str(self.source), "--wait", "0")

    def wake(self) -> None:
        self.feed(0)

    def start(self) -> None:
        self.feed(0)

    def other_leaves(self) -> None:
        self.run("leave")
        self.scene.heard.clear()
        self.feed(0)

    def agree(self) -> None:
        raise AssertionError("it cannot agree to other terms")

    def raise_limit(self) -> None:
        raise AssertionError("it has no limits")

    def leave(self) -> None:
        self.run("leave")

    def wait(self) -> float:
        return self.slept or 0.0

    @property
    def memory(self) -> tuple[dict[str, Any], int]:
        """Read the device's file: the state, and the number of samples."""
        with closing(sqlite3.connect(self.file)) as database:
            ((document,),) = database.execute("SELECT document FROM state")
            ((count,),) = database.execute("SELECT count(*) FROM buffer")
        return json.loads(document), count

    def look(self) -> Seen:
        state, samples = self.memory
        outbox = state.get("outbox")
        return Seen(self._state(state), samples, outbox and outbox.encode(), len(state["ledger"]))

    def _state(self, state: dict[str, Any]) -> str:
        """Find the state by the last sentence that the program said.

        An exit without a sentence is not a valid state.
        """
        last = self.said.splitlines()[-1]
        if "device" not in state:
            return "left"
        if self.slept is not None:
            assert "Trying again." in last
            return "paused" if "paused" in last else "waiting"
        found = [
            name
            for sentence, name in (
                ("all check-ins that you agreed to are made", "all check-ins made"),
                ("it is terms-changed", "terms changed"),
                ("the terms have changed", "terms changed"),
                ("it is task-finished", "task finished"),
                ("the task has ended", "task finished"),
                ("another copy of this device has sent", "copied"),
                ("it is revoked", "revoked"),
                ("it is unauthorized", "revoked"),
                ("samples wait for a check-in", "collecting"),
                ("joined", "collecting"),
            )
            if sentence in last
        ]
        assert len(found) == 1, self.said
        expected = {"collecting": 0, "terms changed": 7}.get(found[0], 3)
        assert self.code == expected, self.said
        return found[0]

    def back_up(self) -> None:
        shutil.copyfile(self.file, self.copy)

    def restore(self) -> None:
        shutil.copyfile(self.copy, self.file)
        self.start()

    def lose_record(self) -> None:
        (self.file.parent / "crowdml.record").unlink()

    def die_at_the_record(self, written: bool) -> None:
        claim = standalone.Record.claim

        def dying(record: standalone.Record, *given: Any) -> bool:
            if written:
                claim(record, *given)
            raise Killed

        with patch.object(standalone.Record, "claim", dying):
            self.feed(3)
        assert self.code == -9

    def again(self) -> str:
        if self.slept is not None:
            if self.slept == RETRY_AFTER:
                return "after retry_after"
            assert 0.5 <= self.slept < 1.5, "the first pause of each run"
            return "after back-off"
        state = self.look().state
        if state in ("terms changed", "task finished"):
            return "never by itself"  # The program has exited; the next start asks once.
        self.scene.heard.clear()
        self.feed(3)
        return "at once" if self.scene.heard else "never by itself"

    def close(self) -> None:
        pass
