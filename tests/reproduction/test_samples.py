"""The data of a trial."""

from dataclasses import replace

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.reproduction.samples import collected, within_unit_ball
from crowdml.reproduction.spectrum import load_data, load_spectrum
from crowdml.simulation import Crowd, Learning, load_activity, simulate


def test_collected_samples_are_of_seven_people_in_equal_parts() -> None:
    data = collected(load_activity(), 7, 300, np.random.default_rng(0), shuffled=True)
    _, counts = np.unique(data.person, return_counts=True)
    assert len(counts) == 7
    assert counts.sum() == 300
    assert counts.max() - counts.min() <= 1


def test_labels_change_at_every_collected_sample() -> None:
    data = collected(load_activity(), 7, 300, np.random.default_rng(0), shuffled=True)
    for person in np.unique(data.person):
        assert (np.diff(data.y_train[data.person == person]) != 0).all()


def test_too_few_changes_of_label() -> None:
    with pytest.raises(InvalidInput, match="must have 7 people with 43 samples each, found 0"):
        collected(load_activity(), 7, 300, np.random.default_rng(0))


def test_spectrum_has_the_rows_of_the_activity_set() -> None:
    raw, unit = load_spectrum(), load_activity()
    norms = np.abs(raw.x_train).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(raw.x_train / norms, unit.x_train, atol=1e-12)
    assert load_data("spectrum").name == "spectrum"
    assert load_data("digits").name == "digits"


def test_scaled_features_take_the_same_steps() -> None:
    """x/s at c·s² predicts as x at c does; s is small enough here for nothing to be clipped."""
    data = load_activity()
    short = replace(data, x_train=data.x_train / 2, x_test=data.x_test / 2)
    scaled, s = within_unit_ball(replace(data, x_train=data.x_train * 4, x_test=data.x_test * 4))
    assert s == pytest.approx(4.0)
    crowd = Crowd(devices=18)
    one = simulate(short, [(crowd, Learning(c=40.0))], points=3)[0]
    other = simulate(scaled, [(crowd, Learning(c=10.0))], points=3)[0]
    np.testing.assert_allclose(one.errors, other.errors, atol=2e-3)


def test_features_that_are_short_stay() -> None:
    data = load_activity()
    same, s = within_unit_ball(data)
    assert s == pytest.approx(1.0)
    np.testing.assert_allclose(same.x_train, data.x_train)
