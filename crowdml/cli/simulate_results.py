"""Show the results of `crowdml simulate` as a JSON object, a table and a picture."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdml.simulation import Curve, CurveSettings, Dataset, Plan, PlanFile, Results

WIDTH, GAP = 80, "  "
SHOWN_COLUMNS = (
    "approach", "mechanism", "devices", "batch", "epsilon", "delay", "passes", "optimizer", "clip",
    "averaging", "pilot", "pilot_people",
)  # fmt: skip
"""The settings that are always in the JSON object; c and λ come from the plan, which may choose
them."""

MANY_LEFT_OVER = 0.1
"""The share of unused samples above which a note is printed."""

Cells = dict[str, list[str]]


@dataclass(frozen=True)
class SimulationResults:
    """Hold the curves of one setting or of a sweep, and the seconds that the run took."""

    data: "Dataset"
    settings: "list[PlanFile]"
    results: "Results"
    seconds: float

    def document(self) -> dict[str, Any]:
        """Return the JSON object: one setting itself, or several as a list of runs."""
        first = self.settings[0]
        common = {"dataset": first.dataset, "trials": first.trials, "seed": first.seed}
        runs = [
            {
                **_numbers(plan, curve),
                "setting": {
                    name: _value(name, setting, plan)
                    for name in dict.fromkeys([*SHOWN_COLUMNS, *self.varied])
                    if name not in ("rate", "reg")
                },
            }
            for setting, plan, curve in self._rows()
        ]
        compared = {"guess_error": self.guess_error, "test_share": self.test_share}
        seconds = round(self.seconds, 3)
        if len(runs) > 1:
            return {"runs": runs, **compared, "seconds": seconds, "setting": common}
        setting = common | runs[0]["setting"]
        return {**runs[0], **compared, "seconds": seconds, "setting": setting}

    @property
    def varied(self) -> list[str]:
        """List the settings that had several values."""
        names = self.settings[0].__struct_fields__
        return [name for name in names if len({getattr(s, name) for s in self.settings}) > 1]

    @property
    def guess_error(self) -> float:
        """Compute the error of the simplest guess."""
        from crowdml.simulation import guess_error, scale_of

        learning = self.results.plans[0].learning
        return guess_error(self.data, learning.tolerance or scale_of(learning, self.data))

    @property
    def test_share(self) -> float:
        n_test = len(self.data.y_test)
        return n_test / (n_test + len(self.data.y_train))

    def table(self) -> str:
        """Make a table for people, in lines of at most 80 letters."""
        cells = self._cells()
        columns = [
            [text.ljust(_width(name, column)) if name in self.varied
             else text.rjust(_width(name, column)) for text in (name, *column)]
            for name, column in cells.items()
        ]  # fmt: skip
        head, *rows = (GAP.join(row).rstrip() for row in zip(*columns, strict=True))
        rule = "─" * _total_width(cells)
        return "\n".join([self.title, "", head, rule, *rows, "", *self._notes(cells)])

    def _cells(self) -> Cells:
        """Make the columns that differ between rows, then as many others as fit on a line."""
        rows = list(self._rows())
        cells = {
            name: [_text(_value(name, setting, plan)) for setting, plan, _ in rows]
            for name in self.varied
            if name not in ("rate", "reg")
        }
        curves, plans = self.results.curves, self.results.plans
        cells["test error"] = [f"{c.final:.3f} ± {c.std[-1]:.3f}" for c in curves]
        more = {
            "pilot alone": [f"{c.pilot_error:.3f}" for c in curves if c.pilot_error is not None],
            "devices": [_text(plan.crowd.devices) for plan in plans],
            "check-ins": [f"{c.checkins:,.0f}" for c in curves],
            "ε/person": [_text(c.epsilon_per_person) for c in curves],
            "ε/sample": [_text(c.epsilon_per_sample) for c in curves],
            "RMSE": [f"{c.final_rmse:.3g}" for c in curves] if curves[0].rmse.size else [],
            "left over": [_percent(c.left_over) for c in curves],
            "rate": [f"{c.c:.3g}" if c.c else "–" for c in curves],
            "reg": [f"{plan.learning.regularization:g}" for plan in plans],
        }
        for name, column in more.items():
            wider = {**cells, name: column}
            if name not in cells and _varies(name, column) and _total_width(wider) <= WIDTH:
                cells = wider
        return cells

    def _notes(self, cells: Cells) -> list[str]:
        what = "the most frequent label" if self.data.labels else "the median"
        lines = [
            f"Always guessing {what} errs at {self.guess_error:.3f}.",
            f"Tested on {len(self.data.y_test):,} held-out samples, "
            f"{_percent(self.test_share)} of all.",
        ]
        crowds = [curve for _, plan, curve in self._rows() if plan.approach == "crowd"]
        if any(curve.checkins == 0 for curve in crowds):
            lines.append(
                "Rows with 0 check-ins learnt nothing: no device had enough samples for one.\n"
                "Use a smaller --batch or fewer --devices."
            )
        elif "left over" in cells and any(
            curve.left_over > MANY_LEFT_OVER for curve in self.results
        ):
            lines.append("Left over: the share of samples that no check-in used.")
        repeated = any(p.crowd.passes > 1 and p.approach == "crowd" for p in self.results.plans)
        if repeated and "ε/sample" in cells:
            lines.append(
                "A sample that is used in P passes is in P check-ins: ε/sample counts all of them."
            )
        lines.append(f"{self.seconds:.1f} s in total")
        return lines

    @property
    def title(self) -> str:
        parts = []
        for name in ("mechanism", "devices", "batch", "epsilon", "delay"):
            first, *others = {_value(name, setting, plan) for setting, plan, _ in self._rows()}
            if first and not others:
                parts.append(first if name == "mechanism" else f"{name} {_text(first)}")
        trials = self.settings[0].trials
        times = "1 trial" if trials == 1 else f"{trials} trials"
        return ", ".join([Path(self.settings[0].dataset).name, *parts, times])

    def labelled(self) -> list[tuple[str, "Curve"]]:
        """Pair each curve with the settings that differ from the other curves."""
        return [(self._label(setting), curve) for setting, _, curve in self._rows()]

    def _label(self, setting: "CurveSettings") -> str:
        values = {name: _text(getattr(setting, name)) for name in self.varied}
        return ", ".join(
            value if name in BY_NAME else f"{name} {value}" for name, value in values.items()
        )

    def _rows(self) -> "zip[tuple[CurveSettings, Plan, Curve]]":
        return zip(self.settings, self.results.plans, self.results.curves, strict=True)


BY_NAME = ("approach", "mechanism", "optimizer")


def _numbers(plan: "Plan", curve: "Curve") -> dict[str, Any]:
    rmse = {"rmse": curve.final_rmse} if curve.rmse.size else {}
    pilot = {} if curve.pilot_error is None else {"pilot_error": curve.pilot_error}
    return {
        "error": curve.final,
        "std": float(curve.std[-1]),
        **rmse,
        "errors": [
            [int(samples), float(mean), float(std)]
            for samples, mean, std in zip(curve.samples, curve.mean, curve.std, strict=True)
        ],
        **pilot,
        "epsilon": {
            "per_sample": curve.epsilon_per_sample,
            "per_device": curve.epsilon_spent,
            "per_person": curve.epsilon_per_person,
        },
        "checkins": curve.checkins,
        "left_over": curve.left_over,
        "seconds": round(curve.seconds, 3),
        "rate": curve.c or None,
        "reg": plan.learning.regularization,
    }


def _value(name: str, setting: "CurveSettings", plan: "Plan") -> Any:
    return plan.crowd.devices if name == "devices" else getattr(setting, name)


def _varies(name: str, column: list[str]) -> bool:
    """Return whether a column adds something to the title."""
    if name == "devices":
        return len(set(column)) > 1
    return bool(set(column) - ({"0", "0 %"} if name in ("left over", "reg") else set()))


def _width(name: str, column: list[str]) -> int:
    return max(len(text) for text in (name, *column))


def _total_width(cells: Cells) -> int:
    widths = [_width(name, column) for name, column in cells.items()]
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else str(value)
