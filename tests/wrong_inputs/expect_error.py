"""Check that a wrong input ends in one of crowdml's own errors, with a sentence for people."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from crowdml.errors import CrowdmlError

RAW = re.compile(r"Traceback|<U\d|dtype|sqlite3\.|\[Errno|object at 0x|NoneType|\.\.$")
"""Words of Python and its libraries, which help nobody who runs a command."""


def expect(call: Callable[[], Any], said: str, error: type[Exception] = CrowdmlError) -> str:
    """Call, and require this error with a message that matches `said` and has no raw words."""
    with pytest.raises(error, match=said) as raised:
        call()
    message = str(raised.value)
    assert not RAW.search(message), message
    assert len(message) < 2000, message
    return message
