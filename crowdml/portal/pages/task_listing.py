"""Choose the tasks that a list shows: search, filter, order and page."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crowdml.protocol import State, Task
from crowdml.server.log import Learner

PER_PAGE = 20
STATE_FILTERS = ("", "open", "paused", "ended")


@dataclass(frozen=True)
class TaskListing:
    """Hold one page of the tasks that match.

    Args:
        shown: The tasks of this page: open tasks first, then the others, each newest first.
        total: The number of tasks on the server; `found` of them match.
        state: One of `STATE_FILTERS`.
        page: 1, 2, …
    """

    shown: Sequence[Learner]
    total: int
    found: int
    query: str
    state: str
    page: int

    @property
    def pages(self) -> int:
        return max(1, math.ceil(self.found / PER_PAGE))

    @classmethod
    def of(cls, learners: Sequence[Learner], parameters: Mapping[str, str]) -> "TaskListing":
        query = parameters.get("q", "").strip()[:100]
        state = parameters.get("state", "")
        state = state if state in STATE_FILTERS else ""
        words = query.casefold().split()
        joinable: list[Learner] = []
        others: list[Learner] = []
        for learner in reversed(learners):
            kind = {State.RUNNING: "open", State.PAUSED: "paused"}.get(learner.state, "ended")
            if (not state or kind == state) and _matches(learner.task, words):
                (joinable if kind == "open" else others).append(learner)
        found = joinable + others
        page = page_in(parameters, len(found), PER_PAGE)
        shown = found[(page - 1) * PER_PAGE : page * PER_PAGE]
        return cls(shown, len(learners), len(found), query, state, page)


def _matches(task: Task, words: Sequence[str]) -> bool:
    """Return whether every word, already case-folded, occurs in what the list shows of a task."""
    if not words:
        return True
    texts = (task.name, task.title, task.objective, task.terms.sensors, *task.terms.target.labels)
    text = " ".join(texts).casefold()
    return all(word in text for word in words)


def page_in(parameters: Mapping[str, str], found: int, per_page: int) -> int:
    """Return the page that an address asks for, among the pages that there are."""
    wanted, last = parameters.get("page", "1"), math.ceil(found / per_page)
    is_number = wanted.isascii() and wanted.isdigit() and len(wanted) < 10
    return max(min(int(wanted), last), 1) if is_number else 1
