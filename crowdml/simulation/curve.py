"""Hold the result of a simulation: errors over samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from crowdml.simulation.notebook import data_frame, html_table
from crowdml.types import Array, Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True)
class Curve:
    """Hold the results of all trials of one plan; a single trial is a curve with one row.

    Args:
        samples: The clock at each point: samples generated so far.
        errors: Test errors, trials × points; one row where no trial can differ from another.
        online_errors: Time-averaged errors of predictions made before learning from them, likewise.
        rmse: Roots of mean squared residuals on test samples, for numbers; no points for labels.
        checkins: How many there were, on average.
        c: The rate's constant, on average; 0 where there is none.
        left_over: The share of samples that reached a device and were never sent.
        epsilon_per_sample: What the most used sample lost.
        epsilon_spent: What the busiest device spent over its check-ins.
        epsilon_per_person: What the person behind a device lost at most, all samples at once.
        pilot_error: The error of the start alone, on average; None without a pilot.
        seconds: The time of computing, for all trials together.
    """

    samples: Ints
    errors: Array
    online_errors: Array
    rmse: Array
    checkins: float = 0.0
    c: float = 0.0
    left_over: float = 0.0
    epsilon_per_sample: float = 0.0
    epsilon_spent: float = 0.0
    epsilon_per_person: float = 0.0
    pilot_error: float | None = None
    seconds: float = 0.0

    @property
    def mean(self) -> Array:
        mean: Array = self.errors.mean(axis=0)
        return mean

    @property
    def std(self) -> Array:
        spread: Array = self.errors.std(axis=0)
        return spread

    @property
    def final(self) -> float:
        return float(self.mean[-1])

    @property
    def final_rmse(self) -> float:
        """Return the mean over trials; for numbers only."""
        return float(self.rmse[:, -1].mean())

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return a row for each trial and point."""
        trials, points = self.errors.shape
        columns: dict[str, npt.NDArray[Any]] = {
            "trial": np.repeat(np.arange(trials), points),
            "samples": np.tile(self.samples, trials),
            "error": self.errors.ravel(),
            "online_error": self.online_errors.ravel(),
        }
        return columns | {"rmse": self.rmse.ravel()} if self.rmse.size else columns

    @property
    def summary(self) -> dict[str, str]:
        """Return the final error and its cost, in words and numbers for people."""
        words = {
            "test error": f"{self.final:.3f} ± {self.std[-1]:.3f}",
            "check-ins": f"{self.checkins:,.0f}",
            "ε/person": f"{self.epsilon_per_person:.4g}",
            "ε/sample": f"{self.epsilon_per_sample:.4g}",
        }
        return words | {"RMSE": f"{self.final_rmse:.3g}"} if self.rmse.size else words

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with a row for each trial and point."""
        return data_frame(self.columns)

    def plot(self, title: str = "") -> "Figure":
        """Plot the mean test error against samples, with its spread over trials."""
        from crowdml.simulation.plot import draw_curves

        return draw_curves([("", self)], title)

    def _repr_html_(self) -> str:
        return html_table(list(self.summary), [list(self.summary.values())])

    @classmethod
    def of(cls, trials: Sequence["Curve"]) -> "Curve":
        """Join several trials into one curve."""
        alone = [trial.pilot_error for trial in trials if trial.pilot_error is not None]
        return cls(
            samples=trials[0].samples,
            errors=np.vstack([trial.errors for trial in trials]),
            online_errors=np.vstack([trial.online_errors for trial in trials]),
            rmse=np.vstack([trial.rmse for trial in trials]),
            checkins=float(np.mean([trial.checkins for trial in trials])),
            c=float(np.mean([trial.c for trial in trials])),
            left_over=float(np.mean([trial.left_over for trial in trials])),
            epsilon_per_sample=max(trial.epsilon_per_sample for trial in trials),
            epsilon_spent=max(trial.epsilon_spent for trial in trials),
            epsilon_per_person=max(trial.epsilon_per_person for trial in trials),
            pilot_error=float(np.mean(alone)) if alone else None,
            seconds=sum(trial.seconds for trial in trials),
        )
