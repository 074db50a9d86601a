"""Measure which tests reach which lines, and how long they take."""

import os
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import coverage
import pytest

from tests.mutations import Mutant

PACKAGES = ["crowdml/learning", "crowdml/optim", "crowdml/privacy"]
TESTS = ["tests/learning", "tests/optim", "tests/privacy", "tests/server/log/test_fold_evidence.py"]
SLOW = """
    a_tenth_of_the_devices an_attacker_pushes directions_are_read_without_bias every_number_has_one
    exact_noise_conforms honest_devices_stop needs_no_opendp no_pair_of_neighbours one_device_cannot
    one_replaced_sample_moves opendp_certifies
"""
"""Parts of the names of tests that take long or start other processes."""
OPTIONS = ["-xq", "--assert=plain", "-pno:cacheprovider", "-omarkers=xdist_group"]
OPTIONS += ["--doctest-modules"]
OPTIONS += ["-k", f"not ({' or '.join(SLOW.split())})"]


class Reach(NamedTuple):
    """Hold the tests of each line of each file, "" for an import, and the tests' processor time."""

    tests: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]
    libraries: list[str]

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach a mutant, the quickest first.

        Code that runs in an import, such as a constant, may matter to every test, in addition to
        the tests that reach another line of the file.
        """
        lines = self.tests.get(mutant.file, {})
        found = set[str]().union(*(lines.get(line, ()) for line in mutant.lines))
        if "" in found:
            files = {test.partition("::")[0] for tests in lines.values() for test in tests} - {""}
            found = {t for t in self.seconds if not files or t.partition("::")[0] in files}
        return sorted(found, key=self.seconds.__getitem__)


class Watch:
    """Note which test runs, and how long it takes, as a plugin of pytest."""

    def __init__(self, cover: coverage.Coverage) -> None:
        self.cover, self.seconds = cover, dict[str, float]()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        ours = tuple(package.replace("/", ".") for package in PACKAGES)
        for module in [sys.modules[name] for name in sys.modules if name.startswith(ours)]:
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):  # A cached value would hide which tests need it.
                    value.cache_clear()
        self.cover.switch_context(item.nodeid)
        start = time.process_time()
        yield
        self.seconds[item.nodeid] = time.process_time() - start


def measure() -> Reach:
    """Run all tests once, and note what each test reaches."""
    cover = coverage.Coverage(data_file=None, include=[f"{package}/*" for package in PACKAGES])
    watch = Watch(cover)
    cover.start()
    code = pytest.main([*OPTIONS, *PACKAGES, *TESTS], plugins=[watch])
    cover.stop()
    assert code == pytest.ExitCode.OK
    data, tests = cover.get_data(), dict[str, dict[int, set[str]]]()
    for file in data.measured_files():
        found = data.contexts_by_lineno(file)
        tests[os.path.relpath(file)] = {line: set(found[line]) for line in found}
    ours = ("crowdml", "tests", "experiments", "__main__")
    return Reach(tests, watch.seconds, [m for m in sys.modules if m.partition(".")[0] not in ours])
