"""Count what one node does since its start."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import partial

from crowdml.protocol import PROBLEMS, State
from crowdml.server.database import MetricValue
from crowdml.server.log import Learner
from crowdml.server.service.histogram import Histogram

COMMIT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
STALENESS = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
GROUP_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Counts:
    """Count events; no label names a device or an address."""

    def __init__(self) -> None:
        self.rejections = dict.fromkeys(PROBLEMS, 0)
        self.failures = 0
        self.listeners = 0
        self._checkins: Counter[str] = Counter()
        self._staleness: dict[str, Histogram] = defaultdict(partial(Histogram, STALENESS))
        self._seconds = Histogram(COMMIT_SECONDS)
        self._group = Histogram(GROUP_SIZES)

    def commit(self, task: str, staleness: list[int], seconds: float) -> None:
        """Record the staleness of each check-in in a committed group, and the commit's latency."""
        self._checkins[task] += len(staleness)
        self._seconds.observe(seconds)
        self._group.observe(len(staleness))
        for late in staleness:
            self._staleness[task].observe(late)

    def metric_values(self, learners: Iterable[tuple[Learner, int]]) -> Iterator[MetricValue]:
        """List all counts, and for each task how many check-ins this node is behind its log."""
        for kind, count in self.rejections.items():
            yield MetricValue("crowdml_rejections_total", "", {"kind": kind}, count)
        yield MetricValue("crowdml_database_failures_total", "", {}, self.failures)
        yield MetricValue("crowdml_listeners", "", {}, self.listeners)
        yield from _histogram("crowdml_commit_seconds", {}, self._seconds)
        yield from _histogram("crowdml_commit_checkins", {}, self._group)
        for task, late in self._staleness.items():
            yield from _histogram("crowdml_checkin_staleness", {"task": task}, late)
        for learner, lag in learners:
            label = {"task": learner.task.name}
            yield MetricValue(
                "crowdml_checkins_total", "", label, self._checkins[learner.task.name]
            )
            yield MetricValue("crowdml_fold_lag_checkins", "", label, lag)
            yield MetricValue("crowdml_task_version", "", label, learner.version)
            yield MetricValue("crowdml_task_devices", "", label, learner.devices)
            for state in State:
                here = int(state is learner.state)
                yield MetricValue("crowdml_task_state", "", label | {"state": state}, here)


def _histogram(family: str, labels: dict[str, str], histogram: Histogram) -> Iterator[MetricValue]:
    for ending, bound, value in histogram.values():
        yield MetricValue(family, ending, labels | ({"le": bound} if bound else {}), value)
