"""Read the plan of each figure from the files beside this module."""

from dataclasses import replace
from importlib.resources import files
from itertools import chain
from typing import Any, Literal

import msgspec
from msgspec import structs

from crowdml.simulation import CurveSettings, Plan, read_plan, read_settings

GROUPS = ("activity", "mnist", "cifar10")


class CurvePlan(CurveSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Describe one curve; by default it has the paper's mechanism and rate, η = c/√t.

    Args:
        key: Its name in JSON and in the table of values.
        label: Its name in the legend.
        panel: Which part of the figure it is drawn in.
    """

    key: str
    label: str
    panel: str = ""
    mechanism: Literal["laplace"] = "laplace"
    rate: float = 1.0
    reg: float = 0.0


class FigurePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Describe one figure: curves that share the data, the devices and the passes.

    Args:
        rates: How c was chosen.
        passes: How often each sample is used.
        points: The number of measurements of the error, evenly over the samples.
        beside: The paper's figure beside which this figure is drawn, with something changed.
        measure: The error on test samples, or the time-averaged error before learning.
        first: The number of samples of a few people, collected when the label changes.
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
        """Return a curve's plan in the simulator's terms."""
        setting = structs.replace(curve, devices=self.devices, passes=self.passes)
        plan = setting.plan()
        # The paper's server does not limit the length of gradients.
        return replace(plan, learning=replace(plan.learning, limits_length=False))


def load_plans() -> dict[str, FigurePlan]:
    """Load the plans of all figures by name, in the paper's order.

    >>> list(load_plans())[:4]
    ['fig3', 'fig3_normalised', 'fig3_extrasensory', 'fig4']
    """
    plans: dict[str, FigurePlan] = {}
    for group in GROUPS:
        text = files("crowdml.reproduction").joinpath("plans", f"{group}.toml").read_text("utf-8")
        plans |= {name: _figure(document) for name, document in read_plan(text).items()}
    return plans


def _figure(document: dict[str, Any]) -> FigurePlan:
    """Read a figure. A curve with a list of values becomes one curve for each value."""
    curves = []
    for curve in chain.from_iterable(read_settings(each, CurvePlan) for each in document["curves"]):
        own = structs.asdict(curve)
        key, label = (name.format_map(own) for name in (curve.key, curve.label))
        curves.append(structs.replace(curve, key=key, label=label))
    return msgspec.convert(document | {"curves": curves}, FigurePlan)
