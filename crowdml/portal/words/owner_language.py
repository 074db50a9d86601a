"""Guess the language in which an owner has written a task from its small words.

Screen readers and hyphenation depend on the language that a page names. The page is in the reader's
language, but a task does not name its own.
"""

import re
from functools import lru_cache

from markupsafe import Markup

from crowdml.portal.words.language import current_language
from crowdml.protocol import Task

SMALL_WORDS = {
    "de": "als auf das dem den der des die ein eine im in ist mit nicht oder sie und von wie zu",
    "en": "a and are as at by for from how in is it its not of on or that the this to what with",
    "es": "como con de del el en es la las los no o para por que se si su un una y",
    "fr": "au aux avec ce dans de des du en est et la le les ou par pas pour qui sur un une",
    "it": "che come con da dei del di e il in la le nel non o per se sono un una",
    "nl": "aan als bij dat de een en er het hoe in is met niet of om op te van voor wat",
}
FEWEST_SMALL_WORDS = 2
"""The fewest small words that show a language."""


def lang_of(task: Task) -> Markup:
    """Return the `lang` attribute of an owner's text; empty if it is in the reader's language."""
    terms = task.terms
    found = guess_language(" ".join((
        task.title, task.objective, terms.purpose, terms.sensors, terms.features.description,
        terms.target.description, *terms.target.labels,
    )))  # fmt: skip
    return Markup("") if found in ("", current_language()) else Markup(' lang="{}"').format(found)


@lru_cache(maxsize=1024)
def guess_language(text: str) -> str:
    """Guess the language of a text; empty if it has too few small words.

    >>> guess_language("Tell from a phone's movement whether its owner walks.")
    'en'
    >>> guess_language("42 lx")
    ''
    >>> guess_language("Aus der Bewegung des Telefons erkennen, ob man geht.")
    'de'
    """
    words = re.findall(r"[^\W\d_]+", text.lower())
    hits = {name: sum(map(known.split().count, words)) for name, known in SMALL_WORDS.items()}
    best = max(hits, key=lambda name: hits[name])
    is_only_best = list(hits.values()).count(hits[best]) == 1
    return best if hits[best] >= FEWEST_SMALL_WORDS and is_only_best else ""
