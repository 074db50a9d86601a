"""What an owner reads before a task exists."""

import re
from typing import Any

import msgspec
import pytest

from crowdml.portal.words import Outlook, TaskNumbers, advice, use_language
from crowdml.protocol import Estimate, State, Statistics, Task
from crowdml.server.log import TaskHistory
from tests.support.servers import make_task


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"privacy__mechanism": "direction", "privacy__epsilon": 4.0},
            "to within 5 percentage points.",
        ),
        (
            {"privacy__epsilon": float("inf"), "collection__batch": 30},
            "to within 5 percentage points.",
        ),
        ({"privacy__mechanism": "direction", "privacy__epsilon": 0.05}, "will hardly be known"),
        ({"privacy__epsilon": 0.1}, "will hardly be known"),
    ],
)
def test_how_well_the_error_will_be_known(changes: dict[str, Any], said: str) -> None:
    assert said in (advice(make_task(**changes)) or "")


def test_an_error_that_is_not_measured() -> None:
    silent = make_task(privacy__mechanism="direction", collection__evaluators=0.0)
    assert advice(silent) is None


DAY = 86400
NOW = 1_000 * DAY


def outlook(
    task: Task, by_minute: dict[int, int], error: Estimate | None = None, **changes: Any
) -> Outlook:
    version = sum(by_minute.values())
    now = Statistics(
        State.RUNNING, version, 9, 9, None, error, (), 0.0, 0, 0.0, 1.0, 1.0, 1.0, 1000, None, "", 0
    )
    now = msgspec.structs.replace(now, **changes)
    return Outlook(TaskNumbers(task, now, TaskHistory((), by_minute)), 1000, NOW)


DIRECTED = make_task(privacy__mechanism="direction", privacy__epsilon=4.0, stop__updates=1000)


@pytest.mark.parametrize(
    ("by_minute", "changes", "said"),
    [
        ({NOW - 3 * DAY: 100, NOW - DAY: 100}, {}, "About 12 more days at this pace."),
        ({NOW - DAY: 900}, {}, "About 3 more hours at this pace."),
        ({NOW - 3600: 500}, {}, "About 60 more minutes at this pace."),
        ({NOW - 8 * DAY: 500}, {}, "No check-in came in the last seven days."),
        ({NOW - DAY: 900}, {"state": State.PAUSED}, ""),
        ({}, {}, ""),
    ],
)
def test_the_pace(by_minute: dict[int, int], changes: dict[str, Any], said: str) -> None:
    assert outlook(DIRECTED, by_minute, **changes).pace == said


def test_the_pace_in_german() -> None:
    with use_language("de"):
        said = outlook(DIRECTED, {NOW - 3 * DAY: 100, NOW - DAY: 100}).pace
    assert said == "Bei diesem Tempo noch etwa 12 Tage."


def test_what_is_uncertain_and_what_would_help() -> None:
    vague = " ".join(outlook(DIRECTED, {NOW - DAY: 100}, Estimate(0.4, 0.25)).sentences)
    assert "between 15 and 65\u00a0% are wrong" in vague
    found = re.search(r"After check-in ([\d,]+), .* within (\d+) percentage points\.", vague)
    assert found
    assert 100 < int(found[1].replace(",", "")) <= 1000
    assert 10 <= int(found[2]) <= 20
    assert "How often each answer was given is still uncertain" in vague
    strict = make_task(privacy__mechanism="direction", privacy__epsilon=0.05, stop__updates=1000)
    hopeless = " ".join(outlook(strict, {NOW - DAY: 100}).sentences)
    assert "will stay uncertain until the end. In the next task, a larger ε" in hopeless
    noisy = make_task(privacy__epsilon=0.1, stop__updates=1000)
    assert "more samples in a check-in" in " ".join(outlook(noisy, {NOW - DAY: 100}).sentences)
    silent = make_task(privacy__mechanism="direction", collection__evaluators=0.0)
    assert (
        outlook(silent, {NOW - DAY: 5}).sentences[0].startswith("The model’s error is not measured")
    )
    waiting = " ".join(outlook(DIRECTED, {NOW - DAY: 5}, devices=20).sentences)
    assert "11 of 20 devices have joined and not checked in yet." in waiting
    good = outlook(DIRECTED, {NOW - DAY: 900}, Estimate(0.1, 0.05)).sentences
    assert not any(sentence.startswith("After check-in") for sentence in good)
    assert outlook(DIRECTED, {}).sentences == [advice(DIRECTED)]


def test_the_heading_promises_help_only_where_there_is_some() -> None:
    vague = outlook(DIRECTED, {NOW - DAY: 100}, Estimate(0.4, 0.25))
    assert vague.title == "What is uncertain, and what would help"
    assert outlook(DIRECTED, {}).title == "What is uncertain"
    alone = outlook(DIRECTED, {}, devices=0)
    assert alone.title == "What is uncertain, and what would help"
    assert alone.sentences[-1] == "Share the join page: people join there."
    invited = outlook(make_task(enrolment__mode="invite"), {}, devices=0)
    assert invited.sentences[-1] == "Make an invite below: people join with it."
    handed = invited._replace(invited=1)
    assert handed.sentences[-1] == "Hand out the invite: people join with it."


def test_what_stayed_uncertain_when_a_task_has_ended() -> None:
    ended = outlook(DIRECTED, {NOW - DAY: 100}, state=State.EXHAUSTED, devices=90)
    assert ended.title == "What stayed uncertain"
    assert ended.sentences == [
        "How often the model is wrong is not known.",
        "How often each answer was given stayed uncertain: there were too few check-ins.",
        "If you reopen the task below, it takes 1,000 check-ins more.",
    ]
    clear = outlook(DIRECTED, {NOW - DAY: 900}, Estimate(0.1, 0.05), state=State.EXHAUSTED)
    assert not clear.suggestions
    assert not outlook(DIRECTED, {}, state=State.STOPPED, devices=0).suggestions
