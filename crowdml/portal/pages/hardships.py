"""Ask what makes learning hard for a crowd: only the simulation uses these answers of the form."""

from collections.abc import Mapping
from typing import NamedTuple


class HardshipField(NamedTuple):
    """Describe one question of the form.

    Args:
        key: The name of the field.
        label: The question.
        choices: Values and what they mean; the first one means "not at all".
    """

    key: str
    label: str
    choices: tuple[tuple[str, str], ...]


HARDSHIP_FIELDS = (
    HardshipField(
        "crowd-leaving",
        "How many devices leave early?",
        (("", "none"), ("0.1", "one in ten"), ("0.3", "three in ten"), ("0.5", "half of them")),
    ),
    HardshipField(
        "crowd-delay",
        "How long do messages take?",
        (
            ("", "no time"),
            ("0.01", "up to a hundredth of the task’s time"),
            ("0.1", "up to a tenth of the task’s time"),
        ),
    ),
    HardshipField(
        "crowd-skew",
        "How different are people’s answers?",
        (
            ("", "all people give all answers"),
            ("1", "each gives some answers more often than others"),
            ("0.3", "each gives mostly one to three of the answers"),
        ),
    ),
)


class CrowdHardships(NamedTuple):
    """Hold the answers of the form.

    They are the share of devices that leave, the delay as a share of the task's time, and the
    Dirichlet concentration of labels.
    """

    leaving: str = ""
    delay: str = ""
    skew: str = ""

    @classmethod
    def of(cls, posted: Mapping[str, str]) -> "CrowdHardships":
        """Read the answers from a form; an unknown value counts as the first choice."""
        known = {field.key: dict(field.choices) for field in HARDSHIP_FIELDS}
        found = {key: posted.get(key, "") for key in known}
        return cls(*(text if text in known[key] else "" for key, text in found.items()))

    def options(self, samples: int, labels: bool) -> dict[str, str]:
        """Return options of `crowdml plan`, for a crowd with this total number of samples.

        >>> CrowdHardships(delay="0.1", skew="1").options(5000, labels=True)
        {'--delay': '500', '--skew': '1'}
        """
        delay = f"{float(self.delay) * samples:g}" if self.delay else ""
        skew = self.skew if labels else ""
        options = {"--leaving": self.leaving, "--delay": delay, "--skew": skew}
        return {option: value for option, value in options.items() if value}


NO_HARDSHIPS = CrowdHardships()
