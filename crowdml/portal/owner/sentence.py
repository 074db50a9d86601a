"""What is wrong with a field, as a sentence for people."""

from dataclasses import replace

from crowdml.errors import Mistake
from crowdml.portal.language import say
from crowdml.portal.rephrase import rephrased
from crowdml.protocol import MISSING

__all__ = ["sentence"]


def sentence(mistake: Mistake, field: str | None = None) -> str:
    """The sentence that stands beside the field, or else names it.

    >>> sentence(Mistake("title", "must be short", "a long one", "Cut it."))
    'This must be short, found a long one. Cut it.'
    """
    if mistake.rule == MISSING and field is None:
        mistake = replace(mistake, remedy=say("Fill it in."))
    rule, found = rephrased(mistake.rule), rephrased(mistake.found)
    said = f"{say('This') if field is None else field} {rule}"
    if found:
        said = say("{said}, found {found}", said=said, found=found)
    return f"{said}. {rephrased(mistake.remedy)}".rstrip()
