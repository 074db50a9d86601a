"""Mutation testing: change the code in one place, and see a test fail.

Each mutant runs in a forked process: libraries are imported once, and the package again with one
module replaced. Only the tests that reach the changed line run, the quickest first. A survivor
must be explained in `tests/mutants.toml`.

Why no library: mutmut 3 leaves out decorated functions and constants, and most formulas here are
properties or constants; cosmic-ray starts Python and imports everything again for each mutant.
"""

import argparse
import importlib
import os
import pickle
import resource
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any

import hypothesis
import pytest

from tests.line_reach import OPTIONS, PACKAGES, Reach, measure
from tests.mutations import Mutant, mutants_of

EXPLAINED = Path(__file__).with_suffix(".toml")


class Replaced(SourceFileLoader):
    """Import one mutant in place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        name = mutant.file.removesuffix(".py").replace("/", ".")
        super().__init__(name, str(Path(mutant.file).resolve()))
        self.code = mutant.code

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        return self.code


def in_child(work: Callable[[], Any], cpu_seconds: int) -> Any:
    """Return the result of a forked process; None if it fails or takes too long."""
    read, write = os.pipe()
    if not (child := os.fork()):
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        with suppress(BaseException), open(write, "wb") as pipe:
            pickle.dump(work(), pipe)
        os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        result = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(result) if result else None


def survives(mutant: Mutant, reach: Reach) -> bool:
    """Decide whether all tests that reach a mutant pass, within a few times their usual time."""
    tests = reach.of(mutant)

    def tested() -> int:
        for output in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), output)
        sys.meta_path.insert(0, Replaced(mutant))
        return int(pytest.main([*OPTIONS, *tests]))

    seconds = 5 + 4 * sum(reach.seconds[test] for test in tests)
    return not tests or in_child(tested, int(seconds)) == pytest.ExitCode.OK


def prepare() -> Reach:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # Plugins take longer than most tests.
    hypothesis.settings.register_profile("mutants", derandomize=True, database=None, deadline=None)
    hypothesis.settings.load_profile("mutants")
    reach: Reach | None = in_child(measure, 3600)
    if reach is None:
        sys.exit("A test fails before anything is changed. Run: make quick")
    for name in reach.libraries:
        with suppress(Exception):
            importlib.import_module(name)
    # A mutant replaces its module when a child imports it: it must not be there yet.
    early = [name for name in sys.modules if name.partition(".")[0] == "crowdml"]
    if early:
        sys.exit(
            f"{early[0]} is imported before it is changed. Name its importer in tests/line_reach.py"
        )
    return reach


def run(files: list[str], explained: set[tuple[str, str, str]]) -> bool:
    """Run all mutants of these files; return whether the list explains exactly the survivors."""
    reach, total, found = prepare(), Counter[str](), set[tuple[str, str, str]]()
    for file in files:
        counts = Counter[str]()
        for mutant in mutants_of(file):
            alive = survives(mutant, reach)
            known = mutant[:3] in explained
            counts.update(["made", ("explained" if known else "survived") if alive else "killed"])
            if alive:
                found.add(mutant[:3])
            if alive and not known:
                print(f"{file}:{mutant.lines.start}\n  - {mutant.line}\n  + {mutant.mutant}")
        total += counts
        print(_sentence(file, counts), flush=True)
    print(_sentence("total", total))
    gone = {one for one in explained - found if one[0] in files}
    for one in sorted(gone):
        print("no longer survives; remove it from the list:", *one, sep="\n  ")
    return not (total["survived"] or gone)


def _sentence(name: str, counts: Counter[str]) -> str:
    fates = ("made", "killed", "explained", "survived")
    return f"{name}: " + ", ".join(f"{counts[fate]} {fate}" for fate in fates)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Change the code, and see a test fail.")
    parser.add_argument("files", nargs="*", help="modules to mutate; all of them if none is named")
    every = [str(file) for package in PACKAGES for file in sorted(Path(package).rglob("*.py"))]
    listed = tomllib.loads(EXPLAINED.read_text())["explained"]
    if gone := {one["file"] for one in listed} - set(every):
        sys.exit(f"{EXPLAINED.name} explains mutants of files that do not exist: {sorted(gone)}")
    explained = {(one["file"], one["line"], mutant) for one in listed for mutant in one["mutants"]}
    sys.exit(not run(parser.parse_args().files or every, explained))
