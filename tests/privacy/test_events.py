"""What a check-in costs, from the facts alone."""

import dataclasses

import pytest

from crowdml.privacy import CheckinRelease, LaplaceRelease, Part


def release(errors_on: Part, labels: float = 0.125) -> CheckinRelease:
    releases = [
        LaplaceRelease("gradient", Part.TRAINING, 9, 0.5),
        LaplaceRelease("errors", errors_on, 1, 0.75),
    ]
    if labels:
        releases.append(LaplaceRelease("labels", Part.ALL, 2, labels))
    return CheckinRelease(8, 2 if errors_on is Part.HELDOUT else 0, tuple(releases))


@pytest.mark.parametrize(
    ("event", "per_sample", "n_samples"),
    [
        (release(Part.TRAINING), 0.5 + 0.75 + 0.125, 8),
        (release(Part.HELDOUT), 0.75 + 0.125, 10),
        (release(Part.TRAINING, labels=0), 1.25, 8),
        (release(Part.HELDOUT, labels=0), 0.75, 10),
        (CheckinRelease(4, 0, ()), 0.0, 4),
    ],
)
def test_cost(event: CheckinRelease, per_sample: float, n_samples: int) -> None:
    assert event.per_sample == per_sample
    assert event.n_samples == n_samples
    assert event.whole_batch == n_samples * per_sample


def test_dearer_part_counts() -> None:
    """Of two disjoint parts each sample is in one only, whichever it is."""
    cheap = LaplaceRelease("errors", Part.HELDOUT, 1, 0.25)
    dear = LaplaceRelease("errors", Part.HELDOUT, 1, 4.0)
    gradient = LaplaceRelease("gradient", Part.TRAINING, 9, 1.0)
    assert CheckinRelease(8, 2, (gradient, cheap)).per_sample == 1.0
    assert CheckinRelease(8, 2, (gradient, dear)).per_sample == 4.0


@pytest.mark.parametrize("fact", [release(Part.TRAINING), release(Part.TRAINING).releases[0]])
def test_facts_do_not_change(fact: object) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        fact.epsilon = 0.0  # type: ignore[attr-defined]
