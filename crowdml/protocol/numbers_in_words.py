"""Write numbers for people, in the same way in Python and JavaScript."""

import math
from decimal import ROUND_HALF_UP, Context
from typing import Literal

import msgspec

from crowdml.phrase import Number, Phrase

PERCENT = "{n}\N{NO-BREAK SPACE}%"
BETWEEN = "between {low} and {high}\N{NO-BREAK SPACE}%"
"""A range in percent, with a no-break space before the sign."""

FOUR_DIGITS = Context(prec=4, rounding=ROUND_HALF_UP)

ROUNDING = 1e-9
"""A number that exceeds a whole number by this little counts as that number: floats are rounded."""

MOST_DECIMALS = 12
"""More decimals of a percentage than these would be made up by the rounding of floats."""

PRACTICALLY_NEVER = 1e-5
"""A probability below this, 0.001 %, is written as practically never."""

UNCERTAIN = 0.5
"""The margin from which on an estimate is not shown."""


class Estimate(msgspec.Struct, frozen=True):
    """Hold a share estimated from noisy counts; ± `margin` covers the truth with 95 % confidence.

    Noise can move `value` below 0 or above 1, where no share can be.
    """

    value: float
    margin: float

    @property
    def low(self) -> float:
        """Return the lower end of the interval, cut to what is possible."""
        return clip_to_share(self.value - self.margin)

    @property
    def high(self) -> float:
        """Return the upper end of the interval, cut to what is possible."""
        return clip_to_share(self.value + self.margin)


def certainty_of_loss(loss: float) -> float:
    """Return how sure somebody who started from even odds can become: at most 1/(1 + e^−loss).

    Args:
        loss: ε, or `Loss.bound` where there is a δ.

    >>> round(certainty_of_loss(4.0), 4)
    0.982
    """
    return 1 / (1 + math.exp(-loss))


def round_half_up(value: float) -> int:
    """Round to the nearest whole number, halves up, as browsers do."""
    return math.floor(value + 0.5)


def times_in_words(share: float) -> Phrase:
    """Write a probability as a number of times.

    >>> print(times_in_words(0.982), "|", times_in_words(0.99966), "|", times_in_words(1 - 1e-9))
    98 times in 100 | 9,997 times in 10,000 | practically always
    """
    return _times(share, 0.5)


def at_most_times(share: float) -> Phrase:
    """Write a probability that is a bound, rounded up.

    >>> print(at_most_times(0.7311), "|", at_most_times(0.98201), "|", at_most_times(0.75))
    74 times in 100 | 983 times in 1,000 | 75 times in 100
    """
    return _times(share, 1 - ROUNDING)


def _times(share: float, up: float) -> Phrase:
    for of in (10**k for k in range(2, 7)):
        n = math.floor(share * of + up)
        # Near 1, the first digit of what is left can be wrong by half: write one digit more.
        if 0 < n < of - 1:
            return Phrase("{n} times in {of}", n=n, of=of)
    return Phrase("practically always") if share > 0.5 else Phrase("practically never")


def percent_sure(loss: float) -> Number:
    """Write `certainty_of_loss` as a percentage, rounded up, but never to 100.

    >>> percent_sure(1.0), percent_sure(8.0), percent_sure(10.0), percent_sure(20.0)
    ('73.2', '99.97', '99.9955', '99.9999998')
    >>> percent_sure(40.0)
    '99.999999999999'
    """
    rest = 100 / (1 + math.exp(min(loss, 500.0)))
    needed = 1 if rest >= 0.1 else 2 if rest >= 0.01 else 1 - math.floor(math.log10(rest))
    decimals = min(needed, MOST_DECIMALS)
    left = math.floor(rest * 10**decimals + ROUNDING) or 1
    written = f"{100 - left / 10**decimals:.{decimals}f}"
    return Number(written if decimals == 1 else written.rstrip("0"))


def four_digits_up(value: float) -> Number:
    """Write ε with four significant digits and no exponent, rounded up.

    ε is a bound, and 20.004 is above the 20 that is called private. The rounding of floats, as in
    0.1 + 0.2, is not rounded up.

    >>> [four_digits_up(value) for value in (4.0, 1 / 3, 20.004, 0.1 + 0.2, 1e6, math.inf)]
    ['4', '0.3334', '20.01', '0.3', '1,000,000', '∞']
    """
    if math.isinf(value):
        return Number("∞")
    digits = FOUR_DIGITS.create_decimal(value)
    if float(digits) < value * (1 - 1e-9):
        digits = digits.next_plus(FOUR_DIGITS)
    return Number(f"{digits.normalize():,f}")


def probability_in_words(share: float) -> Phrase:
    """Write a probability in percent, with two digits of what is likely or of what is not.

    >>> print(*map(probability_in_words, (0.01183, 0.5, 0.9999, 4.2e-18)), sep=" | ")
    1.2\N{NO-BREAK SPACE}% | 50\N{NO-BREAK SPACE}% | 99.99\N{NO-BREAK SPACE}% | practically never
    """
    rest = min(share, 1 - share)
    if rest < PRACTICALLY_NEVER:
        return Phrase("practically always") if share > 0.5 else Phrase("practically never")
    decimals = max(0, -math.floor(math.log10(10 * rest)))
    return Phrase(PERCENT, n=_cut(round_half_up(share * 10 ** (decimals + 2)), decimals))


def share_range(value: float, margin: float) -> Phrase:
    """Write an estimated share and its margin as a range, cut to what is possible.

    The ends are rounded away from each other, so that the range covers what it covered.

    >>> print(share_range(-0.004, 0.121), share_range(0.081, 0.004), sep=" | ")
    between 0 and 12\N{NO-BREAK SPACE}% | between 7.7 and 8.5\N{NO-BREAK SPACE}%
    """
    low, high = clip_to_share(value - margin), clip_to_share(value + margin)
    decimals = 0 if high - low >= 0.02 else 1 if high - low >= 0.002 else 2
    unit = 10 ** (decimals + 2)
    below, above = math.floor(low * unit + ROUNDING), math.ceil(high * unit - ROUNDING)
    if below == above:
        return Phrase(PERCENT, n=_cut(below, decimals))
    return Phrase(BETWEEN, low=_cut(below, decimals), high=_cut(above, decimals))


def is_precise_enough(estimate: Estimate | None) -> bool:
    """Return whether an estimate is precise enough to show: randomness hides a larger margin."""
    return estimate is not None and estimate.margin < UNCERTAIN


def estimate_in_words(estimate: Estimate | None) -> Phrase:
    """Write an estimated share as a range, or why it is unknown."""
    if estimate is None:
        return Phrase("not known")
    if not is_precise_enough(estimate):
        return Phrase("too uncertain")
    return share_range(estimate.value, estimate.margin)


def error_in_words(error: Estimate | None) -> Phrase:
    """Write how often a model is wrong, in the words of all pages, cards and messages."""
    if not is_precise_enough(error):
        return estimate_in_words(error)
    return Phrase("{range} wrong", range=estimate_in_words(error))


def clip_to_share(share: float) -> float:
    """Cut an estimate to 0 … 1: noise can move it outside."""
    return min(max(share, 0.0), 1.0)


def _cut(units: int, decimals: int) -> float:
    return float(units / 10**decimals)


def significant(value: float, digits: int = 3) -> Number:
    """Write a number with some digits and never with an exponent.

    >>> significant(2980.96), significant(0.0000314159, 2)
    ('2,980', '0.000031')
    """
    context = Context(prec=digits, rounding=ROUND_HALF_UP)
    return Number(f"{context.create_decimal(repr(value)).normalize():,f}")


def count_of(noun: Literal["sample", "check-in", "person"], n: int) -> Phrase:
    """Write a number of things.

    >>> print(count_of("sample", 1), count_of("check-in", 1200))
    1 sample 1,200 check-ins
    """
    if noun == "person":
        return Phrase("{n} people", n=n) if n != 1 else Phrase("1 person")
    if noun == "sample":
        return Phrase("{n} samples", n=n) if n != 1 else Phrase("1 sample")
    return Phrase("{n} check-ins", n=n) if n != 1 else Phrase("1 check-in")
