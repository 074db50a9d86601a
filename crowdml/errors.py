"""Define every error that crowdml raises on purpose.

```
CrowdmlError
├── InvalidInput          a value breaks a rule; nothing was changed
│   ├── DoubtfulRows      rows that cannot be in the task's units; nothing was spent on them
│   ├── InvalidSample     a sample that the device rejects
│   └── InvalidTask       a task or its terms with wrong fields, each a Mistake
├── PrivacyError          continuing would break a promise made to the participant
│   ├── LimitReached      the ledger has no ε left for this release
│   ├── NotPrivate        the task protects nobody and that was not agreed to
│   └── TermsChanged      the server's terms are not the ones that were agreed to
├── DeviceError           the local device file cannot be used as asked
├── Unreachable           the network or the server failed; try again later
├── Untrusted             the server's certificate is not the expected one
└── Rejected              the server said no, with an RFC 9457 problem
```

A message states the rule, the value found and what to do. `str(error)` is English; `error.phrase`
is the same sentence for any language.
"""

from dataclasses import dataclass
from typing import Any

from crowdml.phrase import Phrase, PlainText, Value, join_phrases

__all__ = [
    "CrowdmlError",
    "DeviceError",
    "DoubtfulRows",
    "InvalidInput",
    "InvalidSample",
    "InvalidTask",
    "LimitReached",
    "Mistake",
    "NotPrivate",
    "PrivacyError",
    "Rejected",
    "TermsChanged",
    "Unreachable",
    "Untrusted",
]


class CrowdmlError(Exception):
    """Define the base of all errors that crowdml raises on purpose.

    Args:
        said: What is wrong, in English. A `Phrase` can be said in other languages too.
    """

    def __init__(self, said: str | Phrase = "") -> None:
        super().__init__(str(said))
        self.phrase = said if isinstance(said, Phrase) else PlainText(said)

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the message as lines; a line break in a quoted value does not begin a line."""
        return (str(self),)


class InvalidInput(CrowdmlError, ValueError):
    """Report a value that breaks a rule; nothing was changed."""


class DoubtfulRows(InvalidInput):
    """Report rows that cannot be in the task's units; nothing was spent on them."""


class InvalidSample(InvalidInput):
    """Report a sample that the device rejects.

    Args:
        said: What is wrong with it.
        hint: What is likely wrong with all of its source; who lists errors says it once.
    """

    def __init__(self, said: str | Phrase = "", hint: str = "") -> None:
        self.sentence, self.hint = str(said), hint.strip()
        super().__init__(f"{said} {self.hint}" if self.hint else said)


@dataclass(frozen=True)
class Mistake:
    """Describe a field that breaks a rule.

    Args:
        field: Its place in the document, such as `privacy.epsilon`.
        rule: What holds of it, as the name of the field would go on.
        found: The value found, as a reader should see it; a plain text is never translated.
        remedy: What to do, as a sentence.

    >>> rule, remedy = Phrase("must be above {least}", least=0), Phrase("Use inf for no noise.")
    >>> print(Mistake("privacy.epsilon", rule, -1, remedy))
    privacy.epsilon must be above 0, found -1. Use inf for no noise.
    """

    field: str
    rule: Phrase
    found: Value = ""
    remedy: Phrase | None = None

    def __str__(self) -> str:
        return str(self.about(self.field))

    def about(self, name: str | Phrase) -> Phrase:
        """Say what is wrong, with another name for the field."""
        said = Phrase("{field} {rule}.", field=name, rule=self.rule)
        if self.found != "":
            said = Phrase(
                "{field} {rule}, found {found}.", field=name, rule=self.rule, found=self.found
            )
        return join_phrases([said, self.remedy], " ") if self.remedy else said


class InvalidTask(InvalidInput):
    """Report a task or its terms with wrong fields: all of them, a line each.

    Args:
        mistakes: What is wrong, at least one.
        start: How each line begins.
    """

    def __init__(self, *mistakes: Mistake, start: str = ""):
        phrases = [mistake.about(mistake.field) for mistake in mistakes]
        if start:
            phrases = [join_phrases([start, phrase], "") for phrase in phrases]
        super().__init__(join_phrases(phrases, "\n"))
        self.mistakes = mistakes
        self._lines = tuple(map(str, phrases))

    @property
    def lines(self) -> tuple[str, ...]:
        return self._lines


class PrivacyError(CrowdmlError):
    """Report that continuing would break a promise to the participant."""


class LimitReached(PrivacyError):
    """Report that the ledger has no ε left for this release."""


class NotPrivate(PrivacyError):
    """Report that the task protects nobody, and that the participant did not agree to that."""


class TermsChanged(PrivacyError):
    """Report that the server's terms are not the terms that were agreed to."""


class DeviceError(CrowdmlError):
    """Report that the local device file cannot be used as asked."""


class Unreachable(CrowdmlError):
    """Report that the network or the server failed; the same request may succeed later.

    Args:
        retry_after: What the server said about when to ask again; not checked, None for nothing.
    """

    def __init__(self, why: str, retry_after: object = None) -> None:
        super().__init__(why)
        self.retry_after = retry_after


class Untrusted(CrowdmlError):
    """Report that the server's certificate is not the expected one."""


class Rejected(CrowdmlError):
    """Report that the server rejected a request.

    Args:
        kind: The stable last part of the problem's `type`, such as `"stale-version"`.
        status: The HTTP status.
        detail: The server's sentence for people; `self.detail` is its English text.
        extra: Further members of the problem, such as `state` or `retry_after`.
    """

    def __init__(
        self, kind: str, status: int, detail: str | Phrase, extra: dict[str, Any] | None = None
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status = status
        self.detail = str(detail)
        self.extra = extra or {}
