"""Test the notes of a run, and when a run is a success."""

from typing import Any, cast

import pytest

from crowdml.cli.device.run_notes import MOST_KINDS, MOST_SKIPPED_SHOWN, RunNotes
from crowdml.device import Device, Outcome, SourceCounts
from crowdml.device.sources import Hint
from crowdml.device.sources.feed import _add
from crowdml.device.sources.first_rows import FirstRowsCheck
from crowdml.errors import InvalidSample


def test_a_hint_for_all_lines_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    notes = RunNotes("samples.csv")
    for number in range(MOST_SKIPPED_SHOWN + 3):
        notes.skip(InvalidSample(f"line {number}: no number.", "These look like semicolons."))
    notes.end()
    said = capsys.readouterr().err
    assert said.count("semicolons") == 1
    assert said.count("no number.") == MOST_SKIPPED_SHOWN
    assert said.endswith("… and 3 more\n")


def test_a_live_source_shows_each_problem_once_an_hour(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let a device run for a day: a new problem is shown, however many there were before."""
    now = [0.0]
    monkeypatch.setattr("crowdml.cli.device.run_notes.time.monotonic", lambda: now[0])
    notes = RunNotes("http://0.0.0.0:8000", live=True)
    for hour in range(3):
        for n in range(20):
            now[0] = 4000.0 * hour + n
            notes.skip(InvalidSample(f"message {n}: x must be 4 numbers, found {n / 7}."))
    notes.skip(InvalidSample("the buffer is full."))
    notes.skip(Hint("no label is set."))
    assert capsys.readouterr().err.splitlines() == [
        "skipped a sample: message 0: x must be 4 numbers, found 0.0.",
        "skipped a sample: message 0: x must be 4 numbers, found 0.0. (and 19 like it)",
        "skipped a sample: message 0: x must be 4 numbers, found 0.0. (and 19 like it)",
        "skipped a sample: the buffer is full.",
        "no label is set.",
    ]
    notes.end()
    assert capsys.readouterr().err == "… and 19 more like these\n"
    for n in range(1000):
        notes.skip(InvalidSample(f"{chr(0x4E00 + n)}."))
    assert len(notes._said) <= MOST_KINDS


def test_a_long_source_shows_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([0.0, 1.0, 6.0, 6.0, 7.0])
    monkeypatch.setattr("crowdml.cli.device.run_notes.time.monotonic", lambda: next(now))
    notes = RunNotes("samples.csv")
    for lines in (1, 12_000, 13_000):
        notes.line(SourceCounts(0, lines=lines, kept=lines - 1, skipped=1))
    said = "samples.csv: at line 12,000, 11,999 samples kept, 1 skipped\n"
    assert capsys.readouterr().err == said


class Crowded:
    """Be a device whose buffer another run fills, and then empties."""

    n_samples = 0

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)

    def add(self, *sample: Any) -> Outcome:
        return self.outcomes.pop(0)

    def flush(self, wait: float) -> Outcome:
        return self.outcomes.pop(0)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([Outcome.FULL, Outcome.COLLECTED, Outcome.FULL, Outcome.CHECKED_IN, Outcome.COLLECTED],
         Outcome.COLLECTED),
        ([Outcome.FULL, Outcome.COLLECTED, Outcome.TAKEN], Outcome.TAKEN),
        ([Outcome.FULL, Outcome.WAITING], Outcome.FULL),
    ],
)  # fmt: skip
def test_room_that_another_run_has_made_is_used(outcomes: list[Outcome], expected: Outcome) -> None:
    crowded = Crowded(*outcomes)
    device = cast(Device, crowded)
    look = FirstRowsCheck(device, lambda said: False, known=True)
    assert _add(device, ([0.1], 0.0), None, 1, 1.0, look) is expected
    assert crowded.outcomes == []
