"""Test what all mechanisms share: readings, errors, the choice of samples, and inheritance."""

from collections import Counter
from itertools import product
from typing import cast

from crowdml.privacy import CheckinEstimates, Implausible, Mechanism
from crowdml.privacy.minibatch import choose_rows


class Drawn:
    """Return draws from a list."""

    def __init__(self, *draws: int) -> None:
        self._draws = iter(draws)

    def below(self, n: int) -> int:
        drawn = next(self._draws)
        assert drawn < n
        return drawn


def test_all_choices_of_samples_are_equally_likely() -> None:
    """Choose two of four over all draws: each of the six pairs comes twice."""
    pairs = Counter(
        tuple(choose_rows(4, 2, Drawn(*draws)).nonzero()[0].tolist())
        for draws in product(range(4), range(3))
    )
    assert pairs == dict.fromkeys([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], 2)


def test_a_mechanism_whose_checkins_all_train_inherits_the_rest() -> None:
    plain = cast(Mechanism, type("Plain", (Mechanism,), {})())
    assert (plain.lengths_vary, plain.evaluates, plain.counts_labels) == (True, False, False)
    assert (plain.numbers, plain.error_variance, plain.label_variance) == (1, 0, 0)
    assert plain.counts_share == 0
    assert plain.error_count_law(0.25, 20) == (5, 0, 3.75)
    assert CheckinEstimates() == (None, 0, 0.0, 0, (), 0)


def test_what_is_implausible_says_so() -> None:
    error = Implausible("too-few-samples", "samples must be at least 3, found 2.")
    assert (error.kind, str(error)) == ("too-few-samples", "samples must be at least 3, found 2.")
