"""What a task promises, in the words for whom it protects."""

from typing import Any

import pytest

from crowdml.portal.promise import Promise
from crowdml.protocol import Terms
from tests.servers import make_task


def terms(mechanism: str, epsilon: float, **changes: Any) -> Terms:
    return make_task(privacy__mechanism=mechanism, privacy__epsilon=epsilon, **changes).terms


def test_the_whole_person() -> None:
    promise = Promise.of(terms("direction", 4.0))
    assert (promise.whole, promise.short) == (True, "ε = 4 in all")
    assert promise.sentence == "Whatever you contribute, in all: ε = 4."
    assert promise.level.name == "Moderate"
    assert promise.level.meaning == "A guess about you can become much better."
    assert "about you can become at most 98.2\u00a0% sure, from everything" in promise.guess


def test_many_checkins_share_what_a_person_loses() -> None:
    promise = Promise.of(terms("direction", 4.0, collection__checkins=8))
    assert promise == Promise.of(terms("direction", 4.0))


@pytest.mark.parametrize(
    ("mechanism", "sentence", "but"),
    [
        ("laplace", "For each sample: ε = 1.", ""),
        (
            "gaussian",
            "For each sample: ε = 1, with δ = 1e-06.",
            ", but for a chance of one in 1,000,000",
        ),
    ],
)
def test_one_sample(mechanism: str, sentence: str, but: str) -> None:
    promise = Promise.of(terms(mechanism, 1.0))
    assert (promise.whole, promise.sentence, promise.short) == (False, sentence, "ε = 1")
    assert promise.level.meaning == "Little can be learnt about any one sample."
    assert f"about any one sample can become at most 73.1\u00a0% sure{but}," in promise.guess


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_nobody(mechanism: str) -> None:
    promise = Promise.of(terms(mechanism, float("inf")))
    assert not promise.private
    assert (promise.level.name, promise.short) == ("Not private", "ε = ∞")
    assert promise.sentence == "For each sample: ε = ∞."


@pytest.mark.parametrize(
    ("epsilon", "name"),
    [(0.1, "Very strong"), (1.0, "Strong"), (1.1, "Moderate"), (4.0, "Moderate"),
     (10.0, "Weak"), (11.0, "Very weak"), (20.0, "Very weak"),
     (20.1, "Not private"), (1e6, "Not private")],
)  # fmt: skip
def test_a_large_epsilon_is_called_what_it_is(epsilon: float, name: str) -> None:
    assert Promise(False, epsilon).level.name == name
    assert Promise(True, epsilon).level.name == name
    assert Promise(True, epsilon).private == (epsilon <= 20)


def test_a_reading_that_is_in_several_samples() -> None:
    sensor = {"features__sensor.kind": "motion", "features__sensor.window": 64}
    promise = Promise.of(terms("laplace", 3.0, **sensor, **{"features__sensor.every": 1}))
    assert promise.sentence == (
        "For each sample: ε = 3. One reading is in up to 5 samples: for a reading, ε = 15."
    )
    assert promise.level.name == "Very weak", "by what a reading loses"
    assert Promise.of(terms("laplace", 3.0, **sensor)).readings == ""
