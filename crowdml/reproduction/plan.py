"""What to run for each figure, read from the plans beside this file."""

import math
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from crowdml.simulation import Crowd, Delay, Learning, uniform_delay

__all__ = ["CurvePlan", "FigurePlan", "load_plans"]

GROUPS = ("activity", "mnist", "cifar10")

# Crowds are equal, and share their schedules, only if their delay is the same function.
_uniform = cache(uniform_delay)


class CurvePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One curve.

    Args:
        key: Its name in JSON and in the table of readings.
        label: Its name in the legend.
        approach: Who learns, and from what.
        c: The rate's constant, η = c/√t.
        regularization: λ.
        batch: b.
        epsilon: ε of one use of a sample.
        delay: The longest of each of the three delays, in samples of the whole crowd (Δ).
        panel: Which part of the figure it is drawn in.
    """

    key: str
    label: str
    approach: Literal["crowd", "central-batch", "central-sgd", "decentral"]
    c: float = 1.0
    regularization: float = 0.0
    batch: int = 1
    epsilon: float = math.inf
    delay: float = 0.0
    panel: str = ""

    def learning(self) -> Learning:
        """The crowd's own noise if it is a crowd; otherwise the data are what is noisy."""
        epsilon = self.epsilon if self.approach == "crowd" else math.inf
        return Learning(epsilon=epsilon, c=self.c, regularization=self.regularization)


class FigurePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One figure: curves that share the data, the devices and the passes.

    Args:
        title: What it shows.
        dataset: The data set.
        rates: How c was chosen.
        curves: What is drawn.
        devices: M.
        passes: How often each sample is used.
        points: Where the error is measured, evenly over the samples.
        beside: The paper's figure that this one is drawn beside, with something changed.
        measure: The error on test samples, or the time-averaged error before learning.
        first: Only so many samples of a few people, collected when the label changes.
        shuffled: Whether these people's samples are shuffled before they are collected.
    """

    title: str
    dataset: str
    rates: str
    curves: tuple[CurvePlan, ...]
    devices: int = 1000
    passes: int = 1
    points: int = 30
    beside: str | None = None
    measure: Literal["test", "online"] = "test"
    first: int | None = None
    shuffled: bool = False

    def crowd(self, curve: CurvePlan) -> Crowd:
        delay: Delay | None = _uniform(curve.delay) if curve.delay else None
        devices = 1 if curve.approach == "central-sgd" else self.devices
        return Crowd(devices=devices, batch=curve.batch, delay=delay, passes=self.passes)


def load_plans() -> dict[str, FigurePlan]:
    """Every figure's plan, by name, in the paper's order.

    >>> list(load_plans())[:4]
    ['fig3', 'fig3_normalised', 'fig3_extrasensory', 'fig4']
    """
    plans: dict[str, FigurePlan] = {}
    for group in GROUPS:
        text = files("crowdml.reproduction").joinpath("plans", f"{group}.toml").read_bytes()
        plans |= msgspec.toml.decode(text, type=dict[str, FigurePlan])
    return plans
