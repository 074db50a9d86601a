"""Test that Ctrl-C and SIGTERM are quiet at any time, with the exit code that shells expect."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from crowdml.cli.interruption import Terminated, signal_code
from tests.cli.command import COMMAND as PYTHON_M
from tests.cli.command import Command, environment
from tests.one_file_device.program import PROGRAM
from tests.support.servers import create, make_task

AT = """
import runpy, signal, sys
class At:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal({number})
sys.meta_path.insert(0, At())
sys.argv[0] = "crowdml"
{run}
"""
COMMAND = 'runpy.run_module("crowdml", run_name="__main__", alter_sys=True)'
ONE_FILE = f'runpy.run_path({str(PROGRAM)!r}, run_name="__main__")'


def as_from_a_terminal() -> None:
    """Let the child hear Ctrl-C: a shell that starts tests in the background has them ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("run", "module", "number"),
    [
        (COMMAND, "crowdml.cli", signal.SIGINT),
        (COMMAND, "crowdml.cli", signal.SIGTERM),
        (COMMAND, "sqlalchemy", signal.SIGINT),
        (ONE_FILE, "argparse", signal.SIGINT),
        (ONE_FILE, "argparse", signal.SIGTERM),
    ],
)
def test_a_signal_while_a_command_loads(
    tmp_path: Path, run: str, module: str, number: signal.Signals
) -> None:
    code = AT.format(module=module, number=int(number), run=run)
    done = subprocess.run(
        [sys.executable, "-c", code, "task", "list"],
        capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path), timeout=120,
        preexec_fn=as_from_a_terminal,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "")


UNPREPARED = """
import runpy, signal, sys
class Loud:
    def find_spec(self, name, path=None, target=None):
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            print(name)
        else:
            sys.meta_path.remove(self)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Loud())
sys.argv = ["crowdml", "task", "list"]
{run}
"""


@pytest.mark.parametrize(
    "run", [COMMAND, "from crowdml.__main__ import main; main()"], ids=["python -m", "crowdml"]
)
def test_ctrl_c_is_quiet_from_the_first_instruction(tmp_path: Path, run: str) -> None:
    """Check that nothing but the package itself is loaded before the handler is set."""
    done = subprocess.run(
        [sys.executable, "-c", UNPREPARED.format(run=run)],
        capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path), timeout=120,
    )  # fmt: skip
    assert set(done.stdout.split()) == {"crowdml", "crowdml.__main__"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_no_answer(crowdml: Command, number: signal.Signals) -> None:
    create(f"sqlite:///{crowdml.folder / 'crowdml.db'}", make_task())
    with subprocess.Popen(
        [*PYTHON_M, "task", "stop", "activity"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=crowdml.folder, env=crowdml.environment, preexec_fn=as_from_a_terminal,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        asked = ""
        while not asked.endswith("[y/N]:"):
            asked += process.stderr.read(1) or pytest.fail(asked)
        process.send_signal(number)
        assert [text.strip() for text in process.communicate(timeout=120)] == ["", ""]
    assert process.returncode == 128 + number
    assert '"state":"running"' in crowdml("task", "show", "activity", "--json").out


def test_what_a_signal_has_become() -> None:
    """Check exceptions that Python or a library has put in place of a signal's exception."""
    wrapped = RuntimeError("Error calling __set_name__")
    wrapped.__cause__ = KeyboardInterrupt()
    instead = ImportError("no such part")
    instead.__context__ = Terminated(143)
    assert [signal_code(error) for error in (wrapped, instead, ValueError())] == [130, 143, None]
