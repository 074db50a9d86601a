"""How a task's mechanism hides, as a picture for any ε: noise as two hills, a choice as a dial."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from crowdml.errors import CrowdmlError
from crowdml.phrase import Phrase
from crowdml.portal.choice_hiding import ChoiceHiding
from crowdml.portal.drawing import Theme
from crowdml.portal.language import say
from crowdml.portal.noise_hiding import NoiseHiding
from crowdml.portal.words import log10
from crowdml.privacy import PRIVATE_UP_TO, DirectionMechanism, NoiseMechanism
from crowdml.protocol import Terms, rejected

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Hiding", "Slider", "hiding", "sliders"]


class Hiding(Protocol):
    """A picture and the words around it."""

    @property
    def title(self) -> str: ...

    @property
    def about(self) -> str:
        """What is drawn."""
        ...

    @property
    def again(self) -> str:
        """What a button says that lets chance decide anew; empty if there is none."""
        ...

    @property
    def sent(self) -> int:
        """What the picture shows as sent, if that is one thing; else 0."""
        ...

    @property
    def caption(self) -> str:
        """What it means at these settings."""
        ...

    def draw(self, theme: Theme) -> "Figure": ...


class Slider(NamedTuple):
    """A number that may be changed, on a logarithmic scale."""

    name: str
    label: str
    low: float
    high: float
    start: float
    whole: bool = False

    @property
    def ends(self) -> tuple[float, float, float]:
        """Lowest, highest and first position of the handle."""
        return log10(self.low), log10(self.high), log10(self.start)


def sliders(terms: Terms) -> tuple[Slider, ...]:
    """What can be changed in the picture of this task, each at the task's own value.

    A task that is not private has no such picture: it would speak of what the task does not do.
    """
    if not terms.private:
        raise rejected("not-found", Phrase("this task hides nothing, so there is nothing to draw."))
    own = terms.loss.total
    low = min(0.01, _power_of_ten(math.floor, own))
    if isinstance(terms.mechanism(), DirectionMechanism):
        return (Slider("epsilon", say("ε of a check-in"), low, PRIVATE_UP_TO, own),)
    batch = terms.collection.batch
    most = max(1000.0, _power_of_ten(math.ceil, batch))
    return (
        Slider("epsilon", say("ε of a sample"), low, PRIVATE_UP_TO, own),
        Slider("batch", say("Samples in a check-in"), 1, most, batch, whole=True),
    )


def _power_of_ten(rounded: Callable[[float], int], value: float) -> float:
    return 10.0 ** rounded(log10(value))


def hiding(terms: Terms, **settings: float) -> Hiding:
    """The task's own mechanism at other settings, which are those of its sliders."""
    mechanism = terms.mechanism()
    try:
        if isinstance(mechanism, DirectionMechanism):
            return ChoiceHiding.of(mechanism, settings["epsilon"], settings.get("sent", 0))
        assert isinstance(mechanism, NoiseMechanism)
        return NoiseHiding.of(mechanism, settings["epsilon"], round(settings["batch"]))
    except (CrowdmlError, ZeroDivisionError) as error:
        why = error.phrase if isinstance(error, CrowdmlError) else str(error)
        problem = Phrase("this cannot be drawn: {why}", why=why)
        raise rejected("invalid-parameter", problem) from error
