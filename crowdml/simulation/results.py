"""Hold the results of several plans: curves, a table, a picture."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from crowdml.simulation.curve import Curve
from crowdml.simulation.notebook import data_frame, html_table
from crowdml.simulation.plan import Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Results(Sequence[Curve]):
    """Hold a curve for each plan, in the order of the plans."""

    plans: tuple[Plan, ...]
    curves: tuple[Curve, ...]

    def __len__(self) -> int:
        return len(self.curves)

    @overload
    def __getitem__(self, index: int) -> Curve: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Curve]: ...
    def __getitem__(self, index: int | slice) -> Curve | Sequence[Curve]:
        return self.curves[index]

    def to_frame(self) -> "DataFrame":
        """Return a pandas data frame with a row for each plan, trial and point.

        Columns: `samples`, `trial`, `error`, `online_error`, for numbers `rmse`, and one for each
        setting that is not the same in all plans.
        """
        parts = [
            {name: np.full(curve.errors.size, value) for name, value in setting.items()}
            | curve.columns
            for setting, curve in zip(self._differing(), self.curves, strict=True)
        ]
        return data_frame({name: np.concatenate([p[name] for p in parts]) for name in parts[0]})

    def __repr__(self) -> str:
        return "\n".join(", ".join(f"{k} {v}" for k, v in row.items()) for row in self._rows())

    def _repr_html_(self) -> str:
        rows = self._rows()
        return html_table(list(rows[0]), [list(row.values()) for row in rows])

    def _rows(self) -> list[dict[str, str]]:
        """List for each plan its distinguishing settings, its error and its cost."""
        return [
            {name: _text(value) for name, value in setting.items()} | curve.summary
            for setting, curve in zip(self._differing(), self.curves, strict=True)
        ]

    def plot(self, title: str = "") -> "Figure":
        """Plot mean test errors against samples, with their spread over trials."""
        from crowdml.simulation.plot import draw_curves

        labels = [", ".join(f"{k} {_text(v)}" for k, v in d.items()) for d in self._differing()]
        return draw_curves(list(zip(labels, self.curves, strict=True)), title)

    def _differing(self) -> list[dict[str, Any]]:
        """Return for each plan the settings in which not all plans agree."""
        settings = [_settings(plan) for plan in self.plans]
        names = [name for name in settings[0] if len({one[name] for one in settings}) > 1]
        return [{name: one[name] for name in names} for one in settings]


def _settings(plan: Plan) -> dict[str, Any]:
    parts = (plan.crowd, plan.learning)
    own = {field.name: getattr(part, field.name) for part in parts for field in fields(part)}
    return {"approach": plan.approach, **own}


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
