"""A device that dies at any step of Routine 2 loses nothing, doubles nothing, hides no cost."""

import signal
from pathlib import Path

import pytest

from tests.integration.crowd import FEATURES, Collector, log_of, numbered, telltale, uses
from tests.servers import Start

STEPS = ["checked out", "sanitised", "stored", "sent", "acknowledged"]
ROUNDS = 3
PER_ROUND = 10


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_a_step(start: Start, tmp_path: Path, step: str) -> None:
    server = start(telltale())
    device = Collector(server.url, tmp_path)
    for i in range(ROUNDS):
        samples = range(i * PER_ROUND, (i + 1) * PER_ROUND)
        assert device.run(samples, kill=step) == -signal.SIGKILL
    assert device.run(range(ROUNDS * PER_ROUND, FEATURES)) == 0

    log, answers = log_of(server), device.answers()
    used = uses(log)
    assert used.max() == 1, "a sample was used twice"
    acknowledged = device.added
    kept = int(used.sum()) + device.waiting()
    # The sample whose `add` was cut off may have been kept too: it was never acknowledged.
    assert len(acknowledged) <= kept <= len(acknowledged) + ROUNDS
    lost = [i for i in acknowledged if not used[i]]
    assert len(lost) <= device.waiting() < 3, "acknowledged samples are used or still waiting"
    assert list(answers) == [entry.id for entry in log], "one ledger entry for each letter"
    assert set(answers.values()) <= {"applied", "duplicate"}
    assert len({entry.id for entry in log}) == len(log)


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_a_step_with_numbers(start: Start, tmp_path: Path, step: str) -> None:
    """Every number is charged once, sent once, and stands in the log once."""
    server = start(numbered())
    device = Collector(server.url, tmp_path)
    for i in range(ROUNDS):
        samples = range(i * PER_ROUND, (i + 1) * PER_ROUND)
        assert device.run(samples, kill=step) == -signal.SIGKILL
    assert device.run(range(ROUNDS * PER_ROUND, FEATURES)) == 0

    log, answers = log_of(server), device.answers()
    assert [entry.number for entry in log] == list(range(1, len(log) + 1))
    assert device.numbers() == [entry.number for entry in log], "what is charged is what was sent"
    assert list(answers) == [entry.id for entry in log]
    assert set(answers.values()) <= {"applied", "duplicate"}
    assert 0 <= device.waiting() < 3
    assert {entry.samples for entry in log} == {None}


def test_a_step_that_never_comes_is_no_test(start: Start, tmp_path: Path) -> None:
    """The steps above are the steps there are: killing at another name kills nothing."""
    server = start(telltale())
    device = Collector(server.url, tmp_path)
    assert device.run(range(7), kill="no such step") == 0
    assert [entry.samples for entry in log_of(server)] == [3, 3]
    assert device.waiting() == 1
