"""Check the name of a task, which must be safe in an address and as the name of a file."""

import re
from typing import Annotated, TypeAlias

from crowdml.errors import InvalidInput
from crowdml.phrase import Phrase
from crowdml.protocol.wire import NO_NEWLINE, in_own_words
from crowdml.protocol.wording import shown

NUMBERED_DEVICES = "|".join(f"com{k}|lpt{k}" for k in range(10))
NO_RESERVED_NAME = rf"(?!(?:aux|con|nul|prn|{NUMBERED_DEVICES})$)"
"""Windows has devices of these names in every folder."""

NAME_PATTERN = NO_NEWLINE + NO_RESERVED_NAME + r"[a-z0-9][a-z0-9-]{0,62}$"
NAME_RULE = Phrase(
    "1 to 63 lower-case letters, digits and hyphens, with no hyphen first, and no name that "
    "Windows reserves, such as con"
)
TaskName: TypeAlias = Annotated[str, in_own_words(NAME_RULE, pattern=NAME_PATTERN)]


def check_name(name: str) -> str:
    """Return the name, or raise `InvalidInput`: a name in a link could lead out of a folder.

    >>> check_name("../../etc/passwd")
    Traceback (most recent call last):
    crowdml.errors.InvalidInput: a task's name must be 1 to 63 lower-case letters, digits and \
hyphens, with no hyphen first, and no name that Windows reserves, such as con, found \
"../../etc/passwd". Ask the person who gave you the link for another.
    """
    if not re.search(NAME_PATTERN, name):
        words = Phrase(
            "a task's name must be {rule}, found {name}. Ask the person who gave you the "
            "link for another.",
            rule=NAME_RULE,
            name=shown(name),
        )
        raise InvalidInput(words)
    return name
