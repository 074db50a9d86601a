"""Test that the plans are the paper's settings."""

import math

import pytest

from crowdml.reproduction import FigurePlan, load_plans

PLANS = load_plans()
PAPER = {name: plan for name, plan in PLANS.items() if plan.beside is None}


@pytest.mark.parametrize("name", ["fig4", "fig5", "fig6", "fig7", "fig8", "fig9"])
def test_devices_and_passes(name: str) -> None:
    assert PLANS[name].devices == 1000
    assert PLANS[name].passes == (1 if name in ("fig4", "fig7") else 5)
    assert PLANS[name].dataset == ("mnist" if name in ("fig4", "fig5", "fig6") else "cifar10")


@pytest.mark.parametrize("name", ["fig5", "fig6", "fig8", "fig9"])
def test_honest_accounting_stands_beside(name: str) -> None:
    honest = PLANS[f"{name}_one_pass"]
    assert honest.beside == name
    assert honest.passes == 1
    crowd = {curve.key for curve in PLANS[name].curves if curve.approach == "crowd"}
    assert crowd <= {curve.key for curve in honest.curves}
    assert {curve.epsilon for curve in honest.curves} == {10.0}


@pytest.mark.parametrize("name", ["fig6", "fig9"])
def test_delays(name: str) -> None:
    settings = {(curve.batch, curve.delay) for curve in PLANS[name].curves}
    assert settings == {(b, k) for b in (1, 20) for k in (1.0, 10.0, 100.0, 1000.0)}


@pytest.mark.parametrize("name", ["fig4", "fig7"])
def test_no_noise(name: str) -> None:
    assert {curve.epsilon for curve in PLANS[name].curves} == {math.inf}


def test_seven_phones() -> None:
    plan = PLANS["fig3"]
    assert (plan.devices, plan.first, plan.measure) == (7, 300, "online")
    assert [curve.rate for curve in plan.curves] == [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_how_rates_were_chosen_is_said(plan: FigurePlan) -> None:
    assert "c " in plan.rates
    assert len({curve.key for curve in plan.curves}) == len(plan.curves)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_every_curve_is_one_of_the_simulators(plan: FigurePlan) -> None:
    for curve in plan.curves:
        found = plan.simulated(curve)
        assert found == plan.simulated(curve), "equal delays must be one, to share schedules"
        assert (found.approach, found.learning.c) == (curve.approach, curve.rate)
        assert (found.crowd.devices, found.crowd.batch) == (plan.devices, curve.batch)
