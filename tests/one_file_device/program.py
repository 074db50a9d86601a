"""Run the one-file device as people do: as a program, without this package in reach."""

import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from crowdml import one_file_device as standalone
from tests.support.servers import PATIENCE

PROGRAM = Path(standalone.__file__)


def line(x: Iterable[float], y: object) -> str:
    return ",".join(map(repr, map(float, x))) + f",{y}\n"


@dataclass
class OneFileProgram:
    """Act as somebody with the program and a folder.

    Args:
        folder: Where the device's file and its samples are.
        program: What to run, with its own arguments.
    """

    folder: Path
    program: tuple[str, ...] = (str(PROGRAM),)

    @property
    def file(self) -> Path:
        return self.folder / "device.sqlite"

    @property
    def source(self) -> Path:
        return self.folder / "samples.csv"

    def launch(self, *arguments: str) -> "subprocess.Popen[str]":
        # Isolated and without site-packages: only the standard library is there.
        return subprocess.Popen(
            [sys.executable, "-I", "-S", *self.program, *arguments], cwd=self.folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"LC_ALL": "C.UTF-8"},
        )  # fmt: skip

    def run(self, *arguments: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
        with self.launch(*arguments) as process:
            out, err = process.communicate(typed, PATIENCE)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def join(self, link: str, *options: str) -> "subprocess.CompletedProcess[str]":
        return self.run("join", link, "--yes", "--accept-no-privacy", *options)

    def feed(self, *lines: str, wait: float = 0.0) -> "subprocess.CompletedProcess[str]":
        """Append lines to the samples, and run."""
        with self.source.open("a", encoding="utf-8") as file:
            file.writelines(lines)
        # Most samples here are longer than 1, which the device would ask about.
        return self.run("run", "--source", self.source.name, "--wait", str(wait), "--yes")

    @property
    def state(self) -> Any:
        """Return what the device remembers."""
        with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)) as database:
            ((document,),) = database.execute("SELECT document FROM state")
        return json.loads(document)

    def remember(self, state: Any) -> None:
        """Change what the device remembers."""
        with closing(sqlite3.connect(self.file)) as database, database:
            database.execute("UPDATE state SET document = ?", (json.dumps(state),))

    @property
    def buffered(self) -> int:
        with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)) as database:
            ((count,),) = database.execute("SELECT count(*) FROM buffer")
        return int(count)


class OneFileInProcess(OneFileProgram):
    """Run the same program in this process, as starting Python takes most of its time.

    A run that reads samples from standard input needs a process, because it opens descriptor 0.
    """

    def run(self, *arguments: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
        if "-" in arguments:
            return super().run(*arguments, typed=typed)
        given, out, err = (
            io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8") for text in (typed, "", "")
        )
        argv = [str(PROGRAM), *arguments]
        with (
            chdir(self.folder), redirect_stdout(out), redirect_stderr(err),
            patch.object(sys, "stdin", given), patch.object(sys, "argv", argv),
        ):  # fmt: skip
            try:
                code: Any = standalone.main()
            except SystemExit as ended:
                code = ended.code
        for stream in (out, err):
            stream.seek(0)
        return subprocess.CompletedProcess(argv, code, out.read(), err.read())
