"""Run figures, and check the paper's claims about them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from crowdml.errors import InvalidInput
from crowdml.reproduction.analysis import Analysis, Measured, analyse
from crowdml.reproduction.claims import Claim, check_claims
from crowdml.reproduction.figure import Figure, run_figure
from crowdml.reproduction.figure_plan import FigurePlan, load_plans
from crowdml.reproduction.spectrum import load_data
from crowdml.reproduction.three_mechanisms import BEYOND, DatasetResults, compare_mechanisms
from crowdml.simulation import Dataset

ANALYSIS = "analysis"
ANALYSIS_DATASET = "mnist"
FIGURES = ("fig3", "fig4", "fig5", "fig6", "fig7", "fig8", "fig9", ANALYSIS, BEYOND)

Progress = Callable[[str, float], None]


class Reproduction(msgspec.Struct, frozen=True):
    """Hold the results of all figures that were run."""

    trials: int
    seed: int
    figures: dict[str, Figure]
    analysis: Analysis | None
    claims: list[Claim]
    beyond: dict[str, DatasetResults]

    def summary(self) -> dict[str, dict[str, Any]]:
        """Return, for every figure and curve, our final error and the paper's."""
        found: dict[str, dict[str, Any]] = {
            name: {line.plan.key: _pair(line.ours, line.paper_value) for line in figure.lines}
            for name, figure in self.figures.items()
        }
        if self.analysis is not None:
            found[ANALYSIS] = {
                name: _pair(row.measured, row.predicted)
                for name, row in _rows(self.analysis).items()
            }
        if self.beyond:
            found[BEYOND] = {
                f"{name}_{row.mechanism}_b{row.batch}_eps{row.epsilon:g}": _pair(row.mean, None)
                for name, each in self.beyond.items()
                for row in each.rows
            }
        return found


def reproduce(
    names: Sequence[str],
    trials: int = 10,
    seed: int = 0,
    progress: Progress = lambda name, share: None,
    load: Callable[[str], Dataset] = load_data,
    plans: Mapping[str, FigurePlan] | None = None,
) -> Reproduction:
    """Run these figures, each with the figures that are shown beside it.

    Args:
        names: Names of `FIGURES`, or `all`.
        trials: How often each curve is repeated, each time with other random numbers.
        seed: The same seed gives the same curves; only the exact noise of `analysis` is never
            seeded.
        progress: Called with what is running and the share of the work that is done.
        load: A function that loads a data set.
        plans: What to run, by default what `load_plans` finds.
    """
    wanted = _wanted(names)
    if trials < 1:
        raise InvalidInput(f"trials must be at least 1, found {trials}.")
    plans = load_plans() if plans is None else plans
    chosen = {name: plan for name, plan in plans.items() if (plan.beside or name) in wanted}
    steps = len(chosen) + (ANALYSIS in wanted) + (BEYOND in wanted)
    fetch = cache(load)
    figures: dict[str, Figure] = {}
    for name, plan in chosen.items():
        progress(name, len(figures) / steps)

        def advance(share: float, name: str = name) -> None:
            progress(name, (len(figures) + share) / steps)

        figures[name] = run_figure(name, plan, fetch(plan.dataset), trials, seed, advance)
    analysis = None
    if ANALYSIS in wanted:
        progress(ANALYSIS, len(figures) / steps)
        analysis = analyse(fetch(ANALYSIS_DATASET), seed=seed)
    beyond: dict[str, DatasetResults] = {}
    if BEYOND in wanted:
        done = steps - 1
        beyond = compare_mechanisms(
            fetch, trials, seed, lambda share: progress(BEYOND, (done + share) / steps)
        )
    progress("done", 1.0)
    return Reproduction(trials, seed, figures, analysis, check_claims(figures), beyond)


def _wanted(names: Sequence[str]) -> set[str]:
    unknown = set(names) - {*FIGURES, "all"}
    if unknown or not names:
        raise InvalidInput(
            f"a figure must be one of {', '.join(FIGURES)} or all, "
            f"found {', '.join(sorted(unknown)) or 'none'}."
        )
    return set(FIGURES) if "all" in names else set(names)


def _pair(ours: float, paper: float | None) -> dict[str, float | None]:
    return {"ours": ours, "paper": paper}


def _rows(analysis: Analysis) -> dict[str, Measured]:
    """List every measurement under its own name."""
    rows = {f"noise_b{row.x:g}": row for row in analysis.noise}
    rows |= {f"bytes_b{row.x:g}": row for row in analysis.bytes_per_sample}
    for name, series in analysis.staleness.items():
        rows |= {f"staleness_{name.replace(' = ', '')}_delay{row.x:g}": row for row in series}
    return rows
