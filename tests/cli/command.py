"""Run the command as its users do, in its own folder and environment."""

import gc
import io
import json
import logging
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import crowdml
from crowdml.cli import main

COMMAND = [sys.executable, "-m", "crowdml"]
PATIENCE = 300.0
"""The seconds after which a process counts as hung, on a busy machine."""


def environment(folder: Path, **changes: str) -> dict[str, str]:
    """Return the test's environment, with a user's data in this folder and with long lines."""
    own = {
        "PYTHONPATH": str(Path(crowdml.__file__).parents[1]),
        "XDG_DATA_HOME": str(folder / "data"),
        "COLUMNS": "500",
        "NO_COLOR": "1",
    }
    inherited = {name: value for name, value in os.environ.items() if name != "CROWDML_DATABASE"}
    return inherited | own | changes


@dataclass(frozen=True)
class Ran:
    """Hold the exit code and the output of a command."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """Return the object on standard output, which is one line and nothing else."""
        assert self.code == 0, self
        assert self.out.count("\n") == 1, self.out
        assert self.out.endswith("\n")
        document = json.loads(self.out, parse_constant=_reject)
        assert isinstance(document, dict)
        return document

    def said(self, code: int = 0) -> str:
        """Return the standard output of a command that ended with this code."""
        assert self.code == code, self
        return self.out

    def error(self) -> str:
        """Return the one line on standard error of a command that failed."""
        lines = self.errors()
        assert len(lines) == 1, self.err
        return lines[0]

    def errors(self) -> list[str]:
        """Return the lines on standard error of a command that failed."""
        assert self.code == 1, self
        assert self.out == "", self.out
        lines = self.err.splitlines()
        assert all(line.startswith("crowdml: ") for line in lines), self.err
        return [line.removeprefix("crowdml: ") for line in lines]


def _reject(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")


@dataclass
class Command:
    """Run `crowdml`, always in the same folder."""

    folder: Path
    changes: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        """Return the default folder of devices."""
        return self.folder / "data" / "crowdml"

    @property
    def environment(self) -> dict[str, str]:
        return environment(self.folder, **self.changes)

    def __call__(self, *arguments: object, typed: str = "") -> Ran:
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)],
            input=typed,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment,
            timeout=PATIENCE,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.environment,
        )


@dataclass
class Here(Command):
    """Run the same entry point without a new process, which would take most of the time."""

    capsys: pytest.CaptureFixture[str] | None = None

    def __call__(self, *arguments: object, typed: str = "") -> Ran:
        assert self.capsys is not None
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environment.items():
                patch.setenv(name, value)
            if "CROWDML_DATABASE" not in self.changes:
                patch.delenv("CROWDML_DATABASE", raising=False)
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", ["crowdml", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.StringIO(typed))
            patch.setattr(logging.root, "handlers", [])
            code = _exit_code()
        written = self.capsys.readouterr()
        return Ran(code, written.out, written.err)


def _exit_code() -> int:
    """Run `main`, and close what a command left open, as the end of a process would."""
    # Only objects of the command are collected: to search all objects of the tests takes long.
    gc.freeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        code: object = None
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        if code:
            gc.collect()
    gc.unfreeze()
    assert isinstance(code, int), "a command ends by exiting"
    return code
