"""Compare the table of levels in docs/privacy.md with the package."""

import math

from crowdml.protocol import PRIVACY_LEVELS
from crowdml.protocol.numbers_in_words import at_most_times, certainty_of_loss, four_digits_up
from tests.docs.pages import page


def test_levels() -> None:
    text = page("docs/privacy.md")
    for level in PRIVACY_LEVELS:
        up_to = "more" if math.isinf(level.most) else four_digits_up(level.most)
        assert (
            f"| {up_to} | {level.word} | {at_most_times(certainty_of_loss(level.most))} |" in text
        )
