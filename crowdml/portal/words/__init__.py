"""Write the sentences and numbers of the pages: languages, plain words, worked examples.

Pages, templates and pictures call this package; it neither draws nor answers requests. Each English
text needs a German one in `portal/languages/de`, which a test checks.
"""

from crowdml.portal.words import plain
from crowdml.portal.words.example import Example, is_quick, make_example
from crowdml.portal.words.expectation import Expectation
from crowdml.portal.words.language import (
    NBSP,
    catalogue,
    current_language,
    in_language,
    localize_number,
    plain_number,
    preferred_language,
    say,
    say_html,
    use_language,
)
from crowdml.portal.words.outlook import Outlook, advice
from crowdml.portal.words.owner_language import lang_of
from crowdml.portal.words.performance import Performance, TaskNumbers, guess_of, what_is_wrong
from crowdml.portal.words.pilot_draft import PilotPlan, TaskDraftView
from crowdml.portal.words.plain import count, ending
from crowdml.portal.words.shares import label_shares, top_shares

__all__ = [
    "NBSP",
    "Example",
    "Expectation",
    "Outlook",
    "Performance",
    "PilotPlan",
    "TaskDraftView",
    "TaskNumbers",
    "advice",
    "catalogue",
    "count",
    "current_language",
    "ending",
    "guess_of",
    "in_language",
    "is_quick",
    "label_shares",
    "lang_of",
    "localize_number",
    "make_example",
    "plain",
    "plain_number",
    "preferred_language",
    "say",
    "say_html",
    "top_shares",
    "use_language",
    "what_is_wrong",
]
