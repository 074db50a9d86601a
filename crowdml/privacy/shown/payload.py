"""Show a check-in in a worked example: the truth on the device, and what is sent instead."""

from typing import NamedTuple

from crowdml.phrase import Phrase
from crowdml.privacy.minibatch import MinibatchView
from crowdml.types import Array, Flags, Ints


class ShownNumber(NamedTuple):
    """Show one number of a payload: its true value and the value that is sent."""

    what: str | Phrase
    true: float
    sent: float


class ShownChoice(NamedTuple):
    """Show a number that was chosen at random.

    Args:
        title: The kind of check-in that carries the number.
        about: What the number is one of.
        says: The meaning of the number, in words; empty if it has none by itself.
        these: The probability of the number with these samples.
        likely: Its probability with the samples that suit it best.
        unlikely: Its probability with the samples that suit it least.
    """

    title: Phrase
    about: Phrase
    number: int
    says: str | Phrase
    these: float
    likely: float
    unlikely: float


class ShownPayload(NamedTuple):
    """Show a payload in a worked example.

    Args:
        rows: The first numbers that are sent with noise.
        more: How many more numbers there are.
        chosen: The number, for a payload that is one number.
    """

    rows: tuple[ShownNumber, ...] = ()
    more: int = 0
    chosen: ShownChoice | None = None


class WatchedMinibatch:
    """Record what a mechanism asked a minibatch, and what the minibatch answered."""

    def __init__(self, inner: MinibatchView) -> None:
        self._inner = inner
        self.asked: list[tuple[Flags, Array]] = []

    @property
    def n_samples(self) -> int:
        return self._inner.n_samples

    @property
    def w(self) -> Array:
        return self._inner.w

    @property
    def labels(self) -> Ints:
        return self._inner.labels

    def mistakes(self) -> Flags:
        return self._inner.mistakes()

    def mean_gradient(self, rows: Flags, clip: float, norm: int) -> Array:
        self.asked.append((rows, self._inner.mean_gradient(rows, clip, norm)))
        return self.asked[-1][1]
