"""All that the charts of a task are drawn from."""

from typing import NamedTuple

from crowdml.protocol import Statistics, Task
from crowdml.server.reports import Course

__all__ = ["Facts"]


class Facts(NamedTuple):
    """Every number of it comes from sanitised check-ins."""

    task: Task
    statistics: Statistics
    course: Course
