"""Test every figure, made small."""

import math
from functools import partial

import msgspec
import pytest

from crowdml.errors import InvalidInput
from crowdml.reproduction import FIGURES, Reproduction, load_plans, reproduce
from crowdml.reproduction.figure import run_figure
from crowdml.reproduction.samples import collect_first
from crowdml.simulation import Crowd, Data, Learning, Plan, simulate
from tests.reproduction.small import load_small, small_plans


def test_every_figure_gives_finite_numbers(found: Reproduction) -> None:
    assert set(found.figures) == set(load_plans())
    for figure in found.figures.values():
        assert [line.plan for line in figure.lines] == list(figure.plan.curves)
        for line in figure.lines:
            assert len(line.samples) == len(line.mean) == len(line.std) >= 2
            assert all(0 <= error <= 1 for error in line.mean)
            assert line.samples == sorted(line.samples)


def test_summary_has_ours_and_the_papers(found: Reproduction) -> None:
    summary = msgspec.json.decode(msgspec.json.encode(found.summary()))
    assert set(FIGURES) <= set(summary)
    assert summary["fig4"]["crowd"]["paper"] == pytest.approx(0.095)
    for figure, curves in summary.items():
        for key, errors in curves.items():
            assert set(errors) == {"ours", "paper"}
            assert math.isfinite(errors["ours"])
            ours_alone = figure == "beyond" or key in ("central_sgd_unsuited", "c_100")
            assert (errors["paper"] is None) == ours_alone, figure


def test_learning_happens(found: Reproduction) -> None:
    """Check that errors are low without noise; guessing one of three classes errs at 0.67."""
    assert found.figures["fig4"]["crowd"].ours < 0.1
    assert found.figures["fig4"]["central_batch"].ours < 0.1


@pytest.mark.parametrize("name", ["fig3", "fig4", "fig5"])
def test_every_curve_is_the_simulators(name: str) -> None:
    """Check that each curve comes from the simulator, not from code of the reproduction."""
    plan = small_plans()[name]
    data = load_small(plan.dataset)
    figure = run_figure(name, plan, data, trials=2, seed=3)
    people: Data = data
    if plan.first is not None:
        people = partial(collect_first, data, plan.devices, plan.first, plan.shuffled)
    plans = [
        Plan(
            Crowd(plan.devices, curve.batch, passes=plan.passes),
            Learning(
                mechanism="laplace",
                epsilon=curve.epsilon,
                c=curve.rate,
                regularization=curve.reg,
                limits_length=False,  # the paper's server does not limit lengths
            ),
            curve.approach,
        )
        for curve in plan.curves
    ]
    curves = simulate(people, plans, trials=2, seed=3, points=plan.points)
    for line, curve in zip(figure.lines, curves, strict=True):
        errors = curve.online_errors[:, 1:] if plan.measure == "online" else curve.errors
        assert line.mean == errors.mean(axis=0).tolist()
        assert line.std == errors.std(axis=0).tolist()
        assert line.samples == curve.samples[-len(line.mean) :].tolist()


def test_progress_goes_from_nothing_to_all(shares: list[float]) -> None:
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


def test_a_seed_gives_the_same_curves(found: Reproduction) -> None:
    again = reproduce(["fig5"], trials=1, load=load_small, plans=small_plans())
    assert list(again.figures) == ["fig5", "fig5_one_pass"]
    assert again.figures["fig5"] == found.figures["fig5"]


@pytest.mark.parametrize("names", [["fig2"], [], ["all", "fig10"]])
def test_unknown_figures(names: list[str]) -> None:
    with pytest.raises(InvalidInput, match="a figure must be one of fig3, fig4"):
        reproduce(names)


def test_trials_must_be_positive() -> None:
    with pytest.raises(InvalidInput, match="trials must be at least 1, found 0"):
        reproduce(["fig4"], trials=0)
