"""Test the values against the table they were copied from, and against the plans."""

import pytest

from crowdml.reproduction import PAPER_VALUES, load_plans
from crowdml.reproduction.paper import paper_values_of

FINAL = {
    ("fig4", "central_batch"): 0.09,
    ("fig4", "crowd"): 0.095,
    ("fig4", "decentral"): 0.52,
    ("fig5", "central_sgd_b1"): 0.88,
    ("fig5", "central_sgd_b10"): 0.88,
    ("fig5", "central_sgd_b20"): 0.88,
    ("fig5", "central_batch"): 0.42,
    ("fig5", "crowd_b1"): 0.43,
    ("fig5", "crowd_b10"): 0.28,
    ("fig5", "crowd_b20"): 0.20,
    ("fig6", "b1_delay1"): 0.44,
    ("fig6", "b1_delay10"): 0.45,
    ("fig6", "b1_delay100"): 0.46,
    ("fig6", "b1_delay1000"): 0.56,
    ("fig7", "central_batch"): 0.27,
    ("fig7", "crowd"): 0.30,
    ("fig7", "decentral"): 0.87,
    ("fig8", "central_sgd_b1"): 0.89,
    ("fig8", "central_sgd_b10"): 0.89,
    ("fig8", "central_sgd_b20"): 0.89,
    ("fig8", "central_batch"): 0.73,
    ("fig8", "crowd_b1"): 0.72,
    ("fig8", "crowd_b10"): 0.60,
    ("fig8", "crowd_b20"): 0.51,
    ("fig9", "b1_delay1"): 0.71,
    ("fig9", "b1_delay10"): 0.74,
    ("fig9", "b1_delay100"): 0.74,
    ("fig9", "b1_delay1000"): 0.77,
    **{("fig3", f"c_{c}"): 0.135 for c in ("1e-6", "1e-5", "1e-4", "1e-3", "1e-2", "1e-1", "1")},
    **{("fig6", f"b20_delay{k}"): 0.205 for k in (1, 10, 100, 1000)},
    **{("fig9", f"b20_delay{k}"): 0.515 for k in (1, 10, 100, 1000)},
}

EARLIER = {
    ("fig3", "c_1"): {15: 0.2, 50: 0.135},
    ("fig4", "crowd"): {10_000: 0.12, 30_000: 0.095},
    ("fig4", "decentral"): {10_000: 0.75},
    ("fig5", "central_sgd_b20"): {150_000: 0.88},
    ("fig5", "crowd_b1"): {150_000: 0.53},
    ("fig5", "crowd_b10"): {150_000: 0.33},
    ("fig5", "crowd_b20"): {150_000: 0.24},
    ("fig6", "b20_delay1000"): {15_000: 0.89},
}


def test_every_final_reading() -> None:
    encoded = {(figure, curve) for figure, curves in PAPER_VALUES.items() for curve in curves}
    assert encoded == set(FINAL)
    for (figure, curve), error in FINAL.items():
        assert paper_values_of(figure, curve)[-1].error == pytest.approx(error)


@pytest.mark.parametrize(("figure", "curve"), EARLIER)
def test_earlier_values(figure: str, curve: str) -> None:
    found = {value.samples: value.error for value in paper_values_of(figure, curve)[:-1]}
    assert found == pytest.approx(EARLIER[figure, curve])


def test_readings_end_with_the_experiment() -> None:
    ends = {"fig3": 300, "fig4": 60_000, "fig5": 300_000, "fig6": 300_000}
    ends |= {"fig7": 50_000, "fig8": 250_000, "fig9": 250_000}
    for figure, curves in PAPER_VALUES.items():
        assert {values[-1].samples for values in curves.values()} == {ends[figure]}


def test_every_reading_has_a_curve_and_every_figure_a_plan() -> None:
    plans = load_plans()
    for figure, curves in PAPER_VALUES.items():
        planned = {curve.key for curve in plans[figure].curves}
        assert set(curves) <= planned
        assert planned - set(curves) <= {"central_sgd_unsuited"}
