"""What is wrong with a field, as a sentence for people."""

from dataclasses import replace

from crowdml.errors import Mistake
from crowdml.phrase import Phrase
from crowdml.portal.language import say
from crowdml.protocol import MISSING

__all__ = ["sentence"]


def sentence(mistake: Mistake, field: str | None = None) -> str:
    """The sentence that stands beside the field, or else names it.

    >>> rule, remedy = Phrase("must be short"), Phrase("Cut it.")
    >>> sentence(Mistake("title", rule, "a long one", remedy))
    'This must be short, found a long one. Cut it.'
    """
    if mistake.rule == MISSING and field is None:
        mistake = replace(mistake, remedy=Phrase("Fill it in."))
    return say(mistake.about(Phrase("This") if field is None else field))
