"""What an owner is told before a task exists."""

from typing import Any

import pytest

from crowdml.portal.pages.owner.creation import advice
from tests.servers import make_task


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"privacy__mechanism": "direction", "privacy__epsilon": 4.0}, "to within ± 5\u00a0%"),
        ({"privacy__epsilon": float("inf"), "collection__batch": 30}, "to within ± 4\u00a0%"),
        ({"privacy__mechanism": "direction", "privacy__epsilon": 0.05}, "will hardly be known"),
        ({"privacy__epsilon": 0.1}, "will hardly be known"),
    ],
)
def test_how_well_the_error_will_be_known(changes: dict[str, Any], said: str) -> None:
    assert said in (advice(make_task(**changes)) or "")


def test_an_error_that_is_not_measured() -> None:
    silent = make_task(privacy__mechanism="direction", collection__evaluators=0.0)
    assert advice(silent) is None
