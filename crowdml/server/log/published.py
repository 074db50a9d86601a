"""Hold what devices and people may see of a task."""

from dataclasses import dataclass
from functools import cached_property

import msgspec

from crowdml.learning import Reports, Totals, current_error, label_estimates
from crowdml.privacy import Mechanism, Role
from crowdml.protocol import (
    Checkout,
    Estimate,
    State,
    Statistics,
    Task,
    encode_parameters,
    error_in_words,
)
from crowdml.server.content_coding import compress
from crowdml.server.log.fold import Fold
from crowdml.server.log.history import ErrorPoint, MinuteCounts, Point, TaskHistory
from crowdml.types import Array


@dataclass(frozen=True)
class Published:
    """Hold one whole version of a task: w, its number, the state and the sums belong together.

    A version is made after a commit and never changed, so any thread may read it at any time. It
    refers to values that the fold replaces and never changes. Answers are computed and encoded
    once, when the first reader asks for them.
    """

    task: Task
    terms_sha256: str
    mechanism: Mechanism
    version: int
    state: State
    w: Array
    exported: Array
    totals: Totals
    reports: Reports
    staleness_max: int
    points: tuple[Point, ...]
    errors: tuple[ErrorPoint, ...]
    minutes: MinuteCounts
    newest: Point
    end: int

    @classmethod
    def of(cls, fold: Fold, state: State) -> "Published":
        """Make the version of the current fold, in the state that the owner has chosen."""
        return cls(
            task=fold.task,
            terms_sha256=fold.terms_sha256,
            mechanism=fold.mechanism,
            version=fold.version,
            state=state,
            w=fold.w,
            exported=fold.exported,
            totals=fold.learning.totals,
            reports=fold.learning.reports,
            staleness_max=fold.learning.staleness_max,
            points=fold.history.points,
            errors=fold.history.errors,
            minutes=fold.history.minutes,
            newest=fold.current_point(),
            end=fold.end,
        )

    # For devices

    def etag(self, role: Role = Role.TRAIN) -> str:
        suffix = f"-{role}" if role is Role.EVALUATE else ""
        return f'"{self.version}-{self.state}{suffix}"'

    def body(self, role: Role = Role.TRAIN, coding: str = "") -> bytes:
        """Return the answer to a check-out in a content coding, made at the first request.

        A check-in that evaluates gets the exported model, so that reports are about the model that
        people use. A check-in without a role trains and evaluates, and gets both.
        """
        key = role is Role.EVALUATE, coding
        known = self._bodies.get(key)
        if known is None:
            known = compress(self.body(role), coding) if coding else self._body(role)
            self._bodies[key] = known
        return known

    def has_body(self, role: Role, coding: str) -> bool:
        """Return whether the answer to such a check-out is already made."""
        return (role is Role.EVALUATE, coding) in self._bodies

    def _body(self, role: Role) -> bytes:
        exported = None
        if role is not Role.EVALUATE and self._reports_both:
            exported = encode_parameters(self.exported)
        parameters = encode_parameters(self.exported if role is Role.EVALUATE else self.w)
        return msgspec.json.encode(Checkout(self.version, self.state, parameters, exported))

    @property
    def _reports_both(self) -> bool:
        together = self.mechanism.evaluates and not self.mechanism.truth_probability
        return together and self.exported is not self.w

    @cached_property
    def _bodies(self) -> dict[tuple[bool, str], bytes]:
        return {}

    # For people

    @cached_property
    def history(self) -> TaskHistory:
        """Return the history of the task up to this version."""
        points = self.points
        if self.version and (not points or points[-1].version < self.version):
            points = (*points, self.newest)
        errors, now = self.errors, self.error
        if now is not None and (not errors or errors[-1].version < self.version):
            errors = (*errors, ErrorPoint(self.version, now.value, now.margin))
        return TaskHistory(points, self.minutes.by_minute, errors)

    @cached_property
    def error(self) -> Estimate | None:
        """Return the error of the current exported model."""
        return current_error(self.reports.clustered, self.version, self.mechanism.error_variance)

    def statistics(self, devices: int, now: float) -> Statistics:
        """Return the statistics of this version, at a time in seconds since 1970.

        `devices` is an argument because devices join between two versions.
        """
        pace = self.history.pace(now)
        return msgspec.structs.replace(
            self._timeless_statistics, devices=devices, checkins_per_minute=pace
        )

    def statistics_event(self, devices: int, now: float) -> bytes:
        """Return the statistics as a server-sent event, encoded once a second for all."""
        key = devices, int(now)
        known = self._statistics_events.get(key)
        if known is None:
            known = b"data: " + msgspec.json.encode(self.statistics(*key))
            known = b"event: statistics\n" + known + b"\n\n"
            self._statistics_events.clear()
            self._statistics_events[key] = known
        return known

    @cached_property
    def _statistics_events(self) -> dict[tuple[int, int], bytes]:
        """Cache the newest event, by the number of devices and the second that it was made for."""
        return {}

    @cached_property
    def _timeless_statistics(self) -> Statistics:
        """Compute the statistics that depend neither on the clock nor on new devices."""
        totals, newest, promise = self.totals, self.newest, self.task.terms.promise
        return Statistics(
            state=self.state,
            version=self.version,
            devices=0,
            active_devices=newest.active_devices,
            samples=totals.samples,
            error=self.error,
            labels=label_estimates(
                totals.labels, totals.labelled, totals.countings, self.mechanism.label_variance
            ),
            staleness_mean=totals.staleness / max(self.version, 1),
            staleness_max=self.staleness_max,
            checkins_per_minute=0.0,
            epsilon_per_sample=None if promise.exact else promise.epsilon_per_sample,
            epsilon_per_checkin=promise.epsilon_per_checkin,
            epsilon_per_person=promise.epsilon_per_person,
            max_updates=self.end,
            target_error=self.task.stop.error,
            error_text=str(error_in_words(self.error)),
            reports=self.reports.used(self.version),
        )
