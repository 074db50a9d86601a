"""Test the people of a trial."""

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.reproduction.samples import collect_first
from crowdml.reproduction.spectrum import load_data, load_spectrum
from crowdml.simulation import load_activity


def test_collected_samples_are_of_seven_people_in_equal_parts() -> None:
    data = collect_first(load_activity(), 7, 300, True, np.random.default_rng(0))
    _, counts = np.unique(data.person, return_counts=True)
    assert len(counts) == 7
    assert counts.sum() == 300
    assert counts.max() - counts.min() <= 1


def test_labels_change_at_every_collected_sample() -> None:
    data = collect_first(load_activity(), 7, 300, True, np.random.default_rng(0))
    for person in np.unique(data.person):
        assert (np.diff(data.y_train[data.person == person]) != 0).all()


def test_too_few_changes_of_label() -> None:
    with pytest.raises(InvalidInput, match="must have 7 people with 43 samples each, found 0"):
        collect_first(load_activity(), 7, 300, False, np.random.default_rng(0))


def test_spectrum_has_the_rows_of_the_activity_set() -> None:
    raw, data = load_spectrum(), load_data("activity")
    assert (raw.x_train == data.x_train).all()
    assert raw.bounded(1).x_train[0].sum() > 100, "no device rescales it"
    assert data.bounded(1).x_train[0].sum() == 1
    assert load_data("spectrum").name == "spectrum"
    assert load_data("digits").name == "digits"
