"""Type the tutorial line by line, compare its output, and let its crowd learn."""

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from crowdml.demo import free_port
from tests.cli.command import Here, Ran, environment
from tests.docs.pages import ROOT, page
from tests.examples.room import edited
from tests.support.servers import eventually

TUTORIAL = page("docs/tutorial.md")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)
MEMORY = Path("/dev/shm")


@dataclass
class Terminal:
    """Type commands as a reader does, in a folder with the repository's examples.

    `crowdml` runs in this process if `here` is given, as starting Python takes most of its time.
    """

    folder: Path
    here: Here | None = None
    programs: Path = Path(sys.executable).parent
    port: int = field(default_factory=free_port)
    fingerprint: str = ""

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        # The crowd has many files for a short time: in memory they take seconds.
        files = str(MEMORY if MEMORY.exists() else self.folder)
        own = environment(self.folder, PATH=path, TMPDIR=files, CURL_HOME=str(self.folder))
        if self.programs != Path(sys.executable).parent:
            del own["PYTHONPATH"]  # an installed package, not this clone
        return own

    def line(self, typed: str) -> str:
        """Fill in the fingerprint and the port, as the reader does.

        A plan is simulated only once; its sentences are the same.
        """
        here = typed.replace("HOST:8443", f"127.0.0.1:{self.port}").replace(
            ":8443", f":{self.port}"
        )
        here = here.replace("FINGERPRINT", self.fingerprint).replace("curl ", "curl -sSk ")
        return f"{here} --trials 1" if here.startswith("crowdml plan") else here

    def type(self, typed: str) -> str:
        line = self.line(typed)
        if self.here and line.startswith("crowdml "):
            ran = self.here(*shlex.split(line)[1:], typed="y\n")
        else:
            done = subprocess.run(
                ["bash", "-c", line], cwd=self.folder, env=self.environment,
                input="y\n", capture_output=True, text=True, timeout=240, check=False,
            )  # fmt: skip
            ran = Ran(done.returncode, done.stdout, done.stderr)
        ended = 3 if re.search(r"(crowdml device|device\.py) run", typed) else 0
        assert ran.code == ended, (typed, ran.err)
        return ran.out + ran.err

    @contextmanager
    def serve(self, typed: str) -> Iterator[None]:
        """Start the server, and wait until it listens and has printed its fingerprint."""
        output = self.folder / "serve.out"
        with output.open("w") as written:
            command = ["bash", "-c", f"exec {typed} --port {self.port}"]
            serving = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=written, stderr=written
            )
        try:
            assert eventually(lambda: self._listening() or serving.poll() is not None)
            assert serving.poll() is None, output.read_text()
            (self.fingerprint,) = re.findall(r"[0-9a-f]{64}", output.read_text())
            yield
        finally:
            serving.terminate()
            serving.wait(120)

    def _listening(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


LARGEST_ERROR = 0.35
"""In 1,000 simulated crowds the newcomer's error was 0.078 ± 0.028, at most 0.17; guessing has 0.6.
So a correct run exceeds this error less than once in 10⁹ runs. 17 °C were always cold."""


def test_a_reader_comes_from_a_sensor_to_a_prediction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert follow(Terminal(tmp_path, Here(tmp_path, capsys=capsys))) < LARGEST_ERROR


def follow(terminal: Terminal) -> float:
    """Type the whole tutorial, compare what it shows, and return the error for somebody new."""
    shown = ""
    with ExitStack() as until_the_end:
        for language, block in BLOCKS:
            if language == "toml":
                file = terminal.folder / "room.toml"
                file.write_text(edited(file.read_text(), block))
            elif language == "text":
                assert block in shown
            elif language == "python":
                terminal.type(f"python -c {shlex.quote(with_answer(block))}")
            else:
                shown = ""
                for typed in block.splitlines():
                    if typed.startswith("crowdml serve"):
                        until_the_end.enter_context(terminal.serve(typed))
                    else:
                        shown += terminal.type(typed)
                if "predict" in block:
                    error = float(re.findall(r"error (\S+) over 60 lines", shown)[0])
    return error


def with_answer(block: str) -> str:
    """Return the block with an assertion that its last line gives the value in its comment."""
    *before, last = block.splitlines()
    expression, said = last.split("  # ")
    answer = said.rpartition(": ")[2]
    return "\n".join([*before, f"assert list({expression}) == {answer}, {expression}"])


def test_a_block_that_says_something_else_is_found() -> None:
    exec(with_answer("x = 1\n[x]  # one: [1]"), {})
    with pytest.raises(AssertionError):
        exec(with_answer("x = 1\n[x]  # two: [2]"), {})
