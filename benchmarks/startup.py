"""Measure how long a command takes to start, beside a Python that does nothing.

Run: python benchmarks/startup.py [ROUNDS]
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

TASK = Path(__file__).parents[1] / "examples" / "activity.toml"
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "crowdml --version": ["-m", "crowdml", "--version"],
    "crowdml --help": ["-m", "crowdml", "--help"],
    "crowdml task list": ["-m", "crowdml", "task", "list"],
}


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        make_task(folder)
        # The first round compiles modules.
        timed = [[seconds(command, folder) for command in COMMANDS.values()] for _ in range(rounds)]
    best = [
        [min(each) for each in zip(*column, strict=True)] for column in zip(*timed, strict=True)
    ]
    print(f"{'best of ' + str(rounds):>20}    wall     CPU   CPU / CPU of python -c pass")
    for name, (wall, cpu) in zip(COMMANDS, best, strict=True):
        print(f"{name:>20}  {wall:.3f} s {cpu:.3f} s  {cpu / best[0][1]:.1f}")


def make_task(folder: str) -> None:
    """Make a database with one task: without a database, `task list` is an error."""
    create = [sys.executable, "-m", "crowdml", "task", "create", str(TASK)]
    subprocess.run(create, cwd=folder, stdout=subprocess.DEVNULL, check=True)


def seconds(command: list[str], folder: str) -> tuple[float, float]:
    """Return the wall time and the CPU time of one run; a busy machine changes the latter less."""
    before, began = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - began, getrusage(RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
