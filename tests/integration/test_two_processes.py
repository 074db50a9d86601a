"""Two processes on one device file: a command line and a daemon, say."""

from pathlib import Path

import pytest

from tests.integration.crowd import FEATURES, Collector, log_of, numbered, telltale, uses
from tests.servers import Start


@pytest.mark.parametrize("trial", range(2))
def test_no_sample_is_used_twice(start: Start, tmp_path: Path, trial: int) -> None:
    server = start(telltale())
    one = Collector(server.url, tmp_path)
    assert one.run([]) == 0, "join first, so that both have the same identity"
    half = FEATURES // 2
    processes = [one.launch(range(half)), one.launch(range(half, FEATURES))]
    codes = [process.wait(60) for process in processes]
    assert codes == [0, 0]

    log, answers = log_of(server), one.answers()
    used = uses(log)
    assert used.max() == 1, "a sample was used twice"
    assert sorted(one.added) == list(range(FEATURES))
    assert int(used.sum()) + one.waiting() == FEATURES, "a sample was lost"
    assert sorted(answers) == sorted(entry.id for entry in log)
    assert set(answers.values()) <= {"applied", "duplicate"}, "fewer than b were sent"
    assert min(entry.samples or 0 for entry in log) >= 3


@pytest.mark.parametrize("trial", range(2))
def test_no_number_is_used_twice(start: Start, tmp_path: Path, trial: int) -> None:
    server = start(numbered())
    one = Collector(server.url, tmp_path)
    assert one.run([]) == 0
    half = FEATURES // 2
    processes = [one.launch(range(half)), one.launch(range(half, FEATURES))]
    assert [process.wait(60) for process in processes] == [0, 0]

    log, answers = log_of(server), one.answers()
    assert sorted(one.added) == list(range(FEATURES))
    assert len(log) > 5
    numbers = sorted(entry.number or 0 for entry in log)
    assert numbers == one.numbers() == list(range(1, len(log) + 1))
    assert sorted(answers) == sorted(entry.id for entry in log)
    assert set(answers.values()) <= {"applied", "duplicate"}
