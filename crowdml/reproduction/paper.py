"""List the errors that were read off the paper's figures by eye, to about ±0.01."""

from typing import NamedTuple

PAPER_PRECISION = 0.02
"""A curve is at or below the paper's if it exceeds the value by at most this."""


class PaperValue(NamedTuple):
    """Hold the error after a number of samples; low < high where a curve or a group has a range."""

    samples: int
    low: float
    high: float

    @property
    def error(self) -> float:
        return (self.low + self.high) / 2


def _at(samples: int, low: float, high: float | None = None) -> PaperValue:
    return PaperValue(samples, low, low if high is None else high)


ACTIVITY_VALUES = (_at(15, 0.2), _at(50, 0.12, 0.15), _at(300, 0.12, 0.15))
MNIST_SGD = (_at(150_000, 0.88), _at(300_000, 0.88))
CIFAR_SGD = (_at(250_000, 0.89),)
PLATEAU_VALUE = _at(15_000, 0.89)

PAPER_VALUES: dict[str, dict[str, tuple[PaperValue, ...]]] = {
    "fig3": {
        f"c_{c}": ACTIVITY_VALUES for c in ("1e-6", "1e-5", "1e-4", "1e-3", "1e-2", "1e-1", "1")
    },
    "fig4": {
        "central_batch": (_at(60_000, 0.09),),
        "crowd": (_at(10_000, 0.12), _at(30_000, 0.09, 0.10), _at(60_000, 0.09, 0.10)),
        "decentral": (_at(10_000, 0.75), _at(60_000, 0.52)),
    },
    "fig5": {
        **{f"central_sgd_b{b}": MNIST_SGD for b in (1, 10, 20)},
        "central_batch": (_at(300_000, 0.42),),
        "crowd_b1": (_at(150_000, 0.53), _at(300_000, 0.43)),
        "crowd_b10": (_at(150_000, 0.33), _at(300_000, 0.28)),
        "crowd_b20": (_at(150_000, 0.24), _at(300_000, 0.20)),
    },
    "fig6": {
        "b1_delay1": (_at(300_000, 0.44),),
        "b1_delay10": (_at(300_000, 0.45),),
        "b1_delay100": (_at(300_000, 0.46),),
        "b1_delay1000": (_at(300_000, 0.56),),
        **{f"b20_delay{k}": (PLATEAU_VALUE, _at(300_000, 0.20, 0.21)) for k in (1, 10, 100, 1000)},
    },
    "fig7": {
        "central_batch": (_at(50_000, 0.27),),
        "crowd": (_at(50_000, 0.30),),
        "decentral": (_at(50_000, 0.87),),
    },
    "fig8": {
        **{f"central_sgd_b{b}": CIFAR_SGD for b in (1, 10, 20)},
        "central_batch": (_at(250_000, 0.73),),
        "crowd_b1": (_at(250_000, 0.72),),
        "crowd_b10": (_at(250_000, 0.60),),
        "crowd_b20": (_at(250_000, 0.51),),
    },
    "fig9": {
        "b1_delay1": (_at(250_000, 0.71),),
        "b1_delay10": (_at(250_000, 0.74),),
        "b1_delay100": (_at(250_000, 0.74),),
        "b1_delay1000": (_at(250_000, 0.77),),
        **{f"b20_delay{k}": (_at(250_000, 0.51, 0.52),) for k in (1, 10, 100, 1000)},
    },
}


def paper_values_of(figure: str, curve: str) -> tuple[PaperValue, ...]:
    """Return the values of a curve, in the order of samples; none if the paper does not show it.

    >>> paper_values_of("fig4", "crowd")[-1].error
    0.095
    """
    return PAPER_VALUES.get(figure, {}).get(curve, ())
