"""A check-in as a worked example shows it: the truth that stays, and what is sent instead."""

from typing import NamedTuple

from crowdml.phrase import Phrase
from crowdml.privacy.minibatch import MinibatchView
from crowdml.types import Array, Flags, Ints


class Row(NamedTuple):
    """One number of a message, as it is and as it is sent."""

    what: str | Phrase
    true: float
    sent: float


class Chosen(NamedTuple):
    """A number that was chosen by chance.

    Args:
        title: What kind of check-in carries it.
        about: What it is one of.
        says: What the number says, in words; empty if it says nothing by itself.
        these: Its probability with these samples.
        likely: With the samples that suit it best.
        unlikely: With those that suit it least.
    """

    title: Phrase
    about: Phrase
    number: int
    says: str | Phrase
    these: float
    likely: float
    unlikely: float


class Shown(NamedTuple):
    """What an example shows of a message.

    Args:
        rows: The numbers that are sent with noise, the first ones.
        more: How many numbers there are besides.
        chosen: For a message that is one number.
    """

    rows: tuple[Row, ...] = ()
    more: int = 0
    chosen: Chosen | None = None


class Watched:
    """A minibatch that remembers what was asked of it, and what it answered."""

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
