"""Decide what may enter a task's log, and compute the state that follows from it.

The fold is a pure function of the log's entries. A learner owns one fold, decides what is appended
next, and publishes one immutable value after each commit, which any thread may read.
"""

from typing import TYPE_CHECKING

from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.server.log.checkin_rules import CheckinRules
    from crowdml.server.log.decision import ENDED, Arrival
    from crowdml.server.log.history import TaskHistory
    from crowdml.server.log.learner import Learner
    from crowdml.server.log.published import Published

__all__ = [
    "ENDED",
    "Arrival",
    "CheckinRules",
    "Learner",
    "Published",
    "TaskHistory",
]

# Importing the fold must not import a database.
__getattr__ = lazy(__name__)
