"""Test the totals and the estimates from them against their definitions."""

import math

import numpy as np
import pytest

from crowdml.learning import Totals, label_estimates, share_estimate
from crowdml.privacy import CheckinEstimates


def test_every_sum() -> None:
    """Check that estimates without an evaluation or a count add to neither number."""
    totals = Totals((0.5, 0.25))
    report = CheckinEstimates(evaluated=1, errors=3.5)
    count = CheckinEstimates(labels=(1.0, 2.0), labelled=1)
    for estimates, samples, staleness in (
        (report, 30, 2),
        (count, 40, 5),
        (CheckinEstimates(), 1, 0),
    ):
        totals = totals.plus(estimates, samples, staleness)
    assert totals == Totals((1.5, 2.25), 71, 1, 1, 3.5, 1, 1, 7)
    assert Totals.from_array(totals.to_array()) == totals


@pytest.mark.parametrize(("before", "new"), [(None, 3), (3, None), (None, None)])
def test_samples_stay_unknown(before: int | None, new: int | None) -> None:
    totals = Totals(samples=before).plus(CheckinEstimates(), new, 0)
    assert totals.samples is None
    assert Totals.from_array(totals.to_array()) == totals


@pytest.mark.parametrize("noise_variance", [0.0, 30.0])
@pytest.mark.parametrize(("errors", "evaluated"), [(0, 1), (3, 40), (39, 40), (120, 1000)])
def test_the_margin_reaches_the_farther_root(
    errors: int, evaluated: int, noise_variance: float
) -> None:
    """Compare the margin with the roots of (value − p)² = z²·(noise + p(1 − p))/n, 7 check-ins."""
    z, value, noise = 1.7, errors / evaluated, 7 * noise_variance / evaluated
    width = z**2 / evaluated
    roots = np.roots([1 + width, -2 * value - width, value**2 - width * noise])
    found = share_estimate(errors, evaluated, 7, noise_variance, z)
    assert found is not None
    assert found.value == value
    assert found.margin == pytest.approx(max(abs(roots - value)))


@pytest.mark.parametrize("value", [-0.5, 1.5])
def test_noise_beyond_0_and_1_keeps_its_margin(value: float) -> None:
    """Compute the margin as if the share itself had no spread.

    Here z²/n = 1, and one check-in has a noise of 2.
    """
    found = share_estimate(value, 1, 1, 2.0, z=1.0)
    assert found is not None
    assert found.margin == pytest.approx(abs((value + 0.5) / 2 - value) + math.sqrt(0.25 + 4.0) / 2)


def test_labels_are_estimated_like_errors() -> None:
    one, two = (share_estimate(count, 50, 7, 2.0) for count in (20.0, 30.0))
    assert label_estimates((20.0, 30.0), 50, 7, 2.0) == (one, two)
    assert label_estimates((20.0, 30.0), 0, 7, 2.0) == ()
    assert share_estimate(0, 0, 0, 1.0) is None
