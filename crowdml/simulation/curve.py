"""What a simulation gives: errors over samples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crowdml.types import Array, Ints

__all__ = ["Curve"]


@dataclass(frozen=True)
class Curve:
    """What the trials of one plan gave. A single trial is a curve with one row.

    Args:
        samples: The clock at each point: samples generated so far.
        errors: Test errors, trials × points; one row where no trial can differ from another.
        online_errors: Time-averaged errors of predictions made before learning from them, likewise.
        rmse: Roots of mean squared residuals on test samples, for numbers; no points for labels.
        checkins: How many there were, on average.
        c: The rate's constant, on average; 0 where there is none.
        left_over: The share of samples that reached a device and were never sent.
        epsilon_per_sample: What the most used sample lost.
        epsilon_per_device: What the busiest device spent over its check-ins.
        epsilon_per_person: What the person behind a device lost at most, all samples at once.
        seconds: Of computing, all trials together.
    """

    samples: Ints
    errors: Array
    online_errors: Array
    rmse: Array
    checkins: float = 0.0
    c: float = 0.0
    left_over: float = 0.0
    epsilon_per_sample: float = 0.0
    epsilon_per_device: float = 0.0
    epsilon_per_person: float = 0.0
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
        """On average over trials; for numbers only."""
        return float(self.rmse[:, -1].mean())

    @classmethod
    def of(cls, trials: Sequence["Curve"]) -> "Curve":
        """Several trials as one curve."""
        return cls(
            samples=trials[0].samples,
            errors=np.vstack([trial.errors for trial in trials]),
            online_errors=np.vstack([trial.online_errors for trial in trials]),
            rmse=np.vstack([trial.rmse for trial in trials]),
            checkins=float(np.mean([trial.checkins for trial in trials])),
            c=float(np.mean([trial.c for trial in trials])),
            left_over=float(np.mean([trial.left_over for trial in trials])),
            epsilon_per_sample=max(trial.epsilon_per_sample for trial in trials),
            epsilon_per_device=max(trial.epsilon_per_device for trial in trials),
            epsilon_per_person=max(trial.epsilon_per_person for trial in trials),
            seconds=sum(trial.seconds for trial in trials),
        )
