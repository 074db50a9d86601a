"""What `crowdml simulate` found, as a JSON object, as a table, and as a picture."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Column, Table

if TYPE_CHECKING:
    from crowdml.simulation import Curve, Plan

__all__ = ["Setting", "Simulated"]

Setting = dict[str, Any]
CHOSEN = ("rate", "reg")
"""They may have been chosen for each plan, so they are told by the plan and not by the setting."""


@dataclass(frozen=True)
class Simulated:
    """Curves of one setting, or of a sweep.

    Args:
        dataset, trials, seed: What all settings have in common.
        varied: The options that had several values.
        results: For each setting its options, the plan that was run and its curve.
        seconds: Of everything.
    """

    dataset: str
    trials: int
    seed: int
    varied: list[str]
    results: list[tuple[Setting, "Plan", "Curve"]]
    seconds: float

    def document(self) -> dict[str, Any]:
        """One setting as it is, several as a list of runs."""
        common = {"dataset": self.dataset, "trials": self.trials, "seed": self.seed}
        runs = [
            {
                **_numbers(plan, curve),
                "setting": {name: setting[name] for name in setting if name not in CHOSEN},
            }
            for setting, plan, curve in self.results
        ]
        seconds = round(self.seconds, 3)
        if len(runs) > 1:
            return {"runs": runs, "seconds": seconds, "setting": common}
        return {**runs[0], "seconds": seconds, "setting": common | runs[0]["setting"]}

    def print_table(self, console: Console) -> None:
        names = [name for name in self.varied if name not in CHOSEN]
        columns = [*names, *CHOSEN, "test error", "check-ins", "ε/sample", "seconds"]
        table = Table(
            *[Column(name, no_wrap=True) for name in columns],
            title=self.title,
            title_justify="left",
            box=box.SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
            pad_edge=False,
        )
        for setting, plan, curve in self.results:
            table.add_row(
                *[_text(setting[name]) for name in names],
                f"{plan.learning.c:.4g}" if plan.uses_rate else "–",
                f"{plan.learning.regularization:g}",
                f"{curve.final:.3f} ± {curve.std[-1]:.3f}",
                f"{curve.checkins:,.0f}",
                _text(curve.epsilon_per_sample),
                f"{curve.seconds:.2f}",
            )
        console.print(table)
        if any(plan.crowd.passes > 1 and plan.approach == "crowd" for _, plan, _ in self.results):
            console.print("A sample that is used in P passes costs P·ε: ε/sample counts them all.")
        console.print(f"{self.seconds:.1f} s in all")

    @property
    def title(self) -> str:
        setting = self.results[0][0]
        fixed = [n for n in ("devices", "batch", "epsilon", "delay") if n not in self.varied]
        parts = [f"{name} {_text(setting[name])}" for name in fixed if setting[name]]
        times = "1 trial" if self.trials == 1 else f"{self.trials} trials"
        return ", ".join([Path(self.dataset).name, *parts, times])

    def labelled(self) -> list[tuple[str, "Curve"]]:
        """Each curve with what tells it from the others."""
        return [(self._label(setting), curve) for setting, _, curve in self.results]

    def _label(self, setting: Setting) -> str:
        return ", ".join(
            setting[name] if name in ("approach", "optimizer") else f"{name} {_text(setting[name])}"
            for name in self.varied
        )


def _numbers(plan: "Plan", curve: "Curve") -> dict[str, Any]:
    return {
        "error": curve.final,
        "std": float(curve.std[-1]),
        "errors": [
            [int(samples), float(mean), float(std)]
            for samples, mean, std in zip(curve.samples, curve.mean, curve.std, strict=True)
        ],
        "epsilon": {
            "per_sample": curve.epsilon_per_sample,
            "per_device": curve.epsilon_per_device,
        },
        "checkins": curve.checkins,
        "seconds": round(curve.seconds, 3),
        "rate": plan.learning.c if plan.uses_rate else None,
        "reg": plan.learning.regularization,
    }


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
