"""Choose the picture of how a mechanism hides samples: two hills for noise, a dial for a choice."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from crowdml.errors import CrowdmlError
from crowdml.phrase import Phrase
from crowdml.portal.pictures.choice_hiding import ChoiceHiding
from crowdml.portal.pictures.noise_hiding import NoiseHiding
from crowdml.portal.words import say
from crowdml.privacy import PRIVATE_UP_TO, Dial, HidingPicture, Hills, Unit
from crowdml.protocol import Terms, rejected

Hiding: TypeAlias = ChoiceHiding | NoiseHiding
"""A picture and the words around it."""


class Slider(NamedTuple):
    """Describe a setting of the picture that a reader may change, on a logarithmic scale."""

    name: str
    label: str
    low: float
    high: float
    start: float
    whole: bool = False

    @property
    def ends(self) -> tuple[float, float, float]:
        """Return the lowest, highest and first position of the handle."""
        return math.log10(self.low), math.log10(self.high), math.log10(self.start)


def sliders(terms: Terms) -> tuple[Slider, ...]:
    """Return the sliders of the task's picture, each at the task's own value.

    A task that is not private has no picture, because it hides nothing.
    """
    if not terms.private:
        raise rejected("not-found", Phrase("this task hides nothing, so there is nothing to draw."))
    own = terms.loss.total
    low = min(0.01, 10.0 ** math.floor(math.log10(own)))
    if terms.kind.unit is Unit.CHECKIN:
        return (Slider("epsilon", say("ε of a check-in"), low, PRIVATE_UP_TO, own),)
    batch = terms.collection.batch
    most = max(1000.0, 10.0 ** math.ceil(math.log10(batch)))
    return (
        Slider("epsilon", say("ε of a sample"), low, PRIVATE_UP_TO, own),
        Slider("batch", say("Samples in a check-in"), 1, most, batch, whole=True),
    )


HIDINGS: dict[type[HidingPicture], Callable[[Any, int], Hiding]] = {
    Dial: ChoiceHiding.of,
    Hills: lambda hills, sent: NoiseHiding(hills),
}
"""The function that makes each kind of picture."""


def hiding(terms: Terms, epsilon: float, batch: float = 0, sent: float = 0) -> Hiding:
    """Make the picture of the task's mechanism at other settings of its sliders."""
    try:
        picture = terms.mechanism().picture(epsilon, round(batch) or terms.collection.batch)
        return HIDINGS[type(picture)](picture, round(sent))
    except (CrowdmlError, ZeroDivisionError) as error:
        why = error.phrase if isinstance(error, CrowdmlError) else str(error)
        problem = Phrase("this cannot be drawn: {why}", why=why)
        raise rejected("invalid-parameter", problem) from error
