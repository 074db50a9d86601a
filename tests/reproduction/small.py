"""Make figures small: few samples of generated data, few devices, one trial."""

import msgspec
import numpy as np

from crowdml.reproduction import FigurePlan, load_plans
from crowdml.reproduction.spectrum import load_data
from crowdml.simulation import Dataset

SAMPLES = 600
CLASSES = 3


def load_small(name: str) -> Dataset:
    """Generate three separable classes; load the people of MotionSense where people matter."""
    if name in ("activity", "spectrum", "extrasensory"):
        return load_data("activity" if name == "extrasensory" else name)
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, SAMPLES + 200)
    x = rng.normal(0.0, 0.3, (len(y), 6))
    x[np.arange(len(y)), y] += 1.0
    x /= np.abs(x).sum(axis=1, keepdims=True)
    train, test = slice(0, SAMPLES), slice(SAMPLES, None)
    numbers = y.astype(np.float64)
    return Dataset(
        name, ("a", "b", "c"), x[train], numbers[train], np.zeros(SAMPLES, np.int64),
        x[test], numbers[test],
    )  # fmt: skip


def small_plans() -> dict[str, FigurePlan]:
    """Return the real plans with 20 devices and few points."""
    return {name: _small(plan) for name, plan in load_plans().items()}


def _small(plan: FigurePlan) -> FigurePlan:
    if plan.first is not None:
        return msgspec.structs.replace(plan, shuffled=True)
    return msgspec.structs.replace(plan, devices=20, points=3, passes=min(plan.passes, 2))
