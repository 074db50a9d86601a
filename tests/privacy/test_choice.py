"""Test the choice of one number of k: its two probabilities, their ε, and the pull."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdml.errors import InvalidInput
from crowdml.privacy import Choice, best_closest
from crowdml.privacy.choice import COIN
from crowdml.types import Ints

REFERENCE = [
    (256, 0.5, 108, 0.5461, 25.34),
    (256, 1.0, 89, 0.5916, 6.37),
    (256, 2.0, 55, 0.6691, 1.629),
    (256, 4.0, 17, 0.7952, 0.442),
    (256, 8.0, 1, 0.9212, 0.148),
    (256, 10.0, 1, 0.9886, 0.128),
    (1024, 0.5, 431, 0.5451, 25.22),
    (1024, 1.0, 354, 0.5895, 6.34),
    (1024, 2.0, 221, 0.6704, 1.620),
    (1024, 4.0, 67, 0.7926, 0.437),
    (1024, 8.0, 4, 0.9212, 0.137),
    (1024, 10.0, 1, 0.9556, 0.104),
]


class Given:
    """Return draws from a list, and record every request."""

    def __init__(self, *draws: int) -> None:
        self._draws = iter(draws)
        self.asked: list[int] = []

    def below(self, n: int) -> int:
        self.asked.append(n)
        return next(self._draws)


@pytest.mark.parametrize(("k", "epsilon", "t", "p", "a"), REFERENCE)
def test_values_from_the_literature(k: int, epsilon: float, t: int, p: float, a: float) -> None:
    """Compare with PrivUnit at the same ε, for k = 1024 and less.

    The mean square of an estimate is a·d.
    """
    assert best_closest(k, epsilon) == t
    choice = Choice(k, t, epsilon)
    assert choice.p == pytest.approx(p, abs=5e-5)
    assert 1 / choice.pull**2 == pytest.approx(a, rel=5e-3)


@given(k=st.integers(2, 5000), epsilon=st.floats(1e-6, 40), data=st.data())
def test_the_true_loss_is_never_above_the_claim(
    k: int, epsilon: float, data: st.DataObject
) -> None:
    t = data.draw(st.integers(1, k - 1))
    coin = Choice(k, t, epsilon).coin
    assert 0 < coin < COIN
    best, other = Fraction(coin, COIN * t), Fraction(COIN - coin, COIN * (k - t))
    ratio = best / other
    assert math.log(ratio) <= epsilon * (1 + 1e-15)
    # The loss is close to the claim: hardly any of the charged ε is wasted.
    assert math.log(ratio) >= epsilon - max(1e-13, 2.0**-60 * k * math.exp(epsilon))


def test_the_coin_is_never_above_the_exact_probability() -> None:
    """Compare the coin with e^ε in 50 digits.

    The exp of a float is too large about every other time.
    """
    with localcontext(prec=50):
        for i in range(1, 400):
            odds = Decimal(i / 10).exp()
            assert Choice(2, 1, i / 10).coin <= odds / (odds + 1) * COIN
    assert Choice(2, 1, 1e-13).coin >= COIN // 2


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("k", [3, 16, 40])
def test_the_best_closest_pulls_most(k: int, epsilon: float) -> None:
    pulls = [Choice(k, t, epsilon).pull for t in range(1, k)]
    assert best_closest(k, epsilon) == 1 + int(np.argmax(pulls))


@pytest.mark.parametrize(("k", "t", "epsilon"), [(2, 1, 0.1), (1024, 67, 4.0), (6, 1, 40.0)])
def test_two_probabilities(k: int, t: int, epsilon: float) -> None:
    """Check the probabilities as floats.

    The small one must not be lost where the large one is nearly 1.
    """
    choice = Choice(k, t, epsilon)
    assert t * choice.likely + (k - t) * choice.unlikely == pytest.approx(1.0)
    assert math.log(choice.likely / choice.unlikely) == pytest.approx(epsilon, rel=2e-2)
    assert choice.likely / choice.unlikely <= math.exp(epsilon)


def test_the_best_and_the_others() -> None:
    choice, order = Choice(5, 2, 1.0), np.array([3, 1, 4, 0, 2])
    given = Given(choice.coin - 1, 1)
    assert choice.choose(order, given) == 1
    assert given.asked == [COIN, 2]
    given = Given(choice.coin, 2)
    assert choice.choose(order, given) == 2
    assert given.asked == [COIN, 3]


@pytest.mark.parametrize(("k", "t"), [(2, 1), (6, 1), (9, 4)])
def test_every_number_has_one_of_two_probabilities(k: int, t: int) -> None:
    """Try all draws of the uniform choices, so that nothing is random."""
    choice, order = Choice(k, t, 1.3), np.arange(k)[::-1].copy()
    best = {choice.choose(order, Given(0, i)) for i in range(t)}
    others = {choice.choose(order, Given(COIN - 1, i)) for i in range(k - t)}
    assert best == set(order[:t].tolist())
    assert others == set(order[t:].tolist())


@pytest.mark.parametrize(("k", "t"), [(1024, 67), (64, 9), (3, 1)])
def test_the_pull_is_the_mean_of_the_chosen_normal(k: int, t: int) -> None:
    """Compare the pull with a sample mean.

    A mean of 40,000 is off by more than 6 of its standard deviations with probability < 1e-8.
    """
    choice, rng = Choice(k, t, 4.0), np.random.default_rng(3)
    n = 40_000 if k < 100 else 4000
    z = -np.sort(-rng.normal(size=(n, k)), axis=1)
    top = rng.random(n) < choice.p
    rank: Ints = np.where(top, rng.integers(0, t, n), rng.integers(t, k, n))
    chosen = z[np.arange(n), rank]
    assert chosen.mean() == pytest.approx(choice.pull, abs=6 * chosen.std() / math.sqrt(n))


@pytest.mark.parametrize(
    ("k", "t", "epsilon"), [(5, 0, 1.0), (5, 5, 1.0), (1, 1, 1.0), (5, 1, 9e-14), (5, 1, math.inf)]
)
def test_what_cannot_be_chosen(k: int, t: int, epsilon: float) -> None:
    with pytest.raises(InvalidInput):
        Choice(k, t, epsilon)
