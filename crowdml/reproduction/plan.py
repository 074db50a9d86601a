"""What to run for each figure, read from the plans beside this file."""

import math
from importlib.resources import files
from typing import Literal

import msgspec

from crowdml.simulation import Crowd, Learning, Plan, uniform_delay

__all__ = ["CurvePlan", "FigurePlan", "load_plans"]

GROUPS = ("activity", "mnist", "cifar10")


class CurvePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One curve.

    Args:
        key: Its name in JSON and in the table of readings.
        label: Its name in the legend.
        approach: One of the simulator's.
        c: The rate's constant, η = c/√t.
        regularization: λ.
        batch: b.
        epsilon: ε of one use of a sample.
        delay: The longest of each of the three delays, in samples of the whole crowd (Δ).
        panel: Which part of the figure it is drawn in.
    """

    key: str
    label: str
    approach: str
    c: float = 1.0
    regularization: float = 0.0
    batch: int = 1
    epsilon: float = math.inf
    delay: float = 0.0
    panel: str = ""


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

    def simulated(self, curve: CurvePlan) -> Plan:
        """A curve as the simulator knows it."""
        delay = uniform_delay(curve.delay) if curve.delay else None
        return Plan(
            crowd=Crowd(self.devices, curve.batch, delay=delay, passes=self.passes),
            learning=Learning(
                mechanism="laplace",
                epsilon=curve.epsilon,
                c=curve.c,
                regularization=curve.regularization,
            ),
            approach=curve.approach,
        )


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
