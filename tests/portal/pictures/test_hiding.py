"""The picture of how a mechanism hides: its settings, its words, its draws."""

import math
from dataclasses import replace
from typing import Any

import pytest

from crowdml.errors import Rejected
from crowdml.portal.pictures.choice_hiding import ChoiceHiding
from crowdml.portal.pictures.drawing import THEMES, save
from crowdml.portal.pictures.hiding import hiding, sliders
from crowdml.portal.pictures.noise_hiding import NoiseHiding
from crowdml.portal.words import plain as words
from crowdml.privacy import NoiseLevels, NoiseMechanism
from crowdml.protocol import Terms
from tests.support.servers import make_task


def terms(mechanism: str, **changes: Any) -> Terms:
    return make_task(privacy__mechanism=mechanism, **changes).terms


@pytest.mark.parametrize("mechanism", ["direction", "gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [0.01, 4.0, 19.999])
def test_at_the_tasks_own_settings(mechanism: str, epsilon: float) -> None:
    """Every slider starts between its ends, and what it starts with can be drawn."""
    own = terms(mechanism, privacy__epsilon=epsilon)
    for slider in sliders(own):
        low, high, start = slider.ends
        assert low <= start <= high
        assert math.isclose(10**start, slider.start)
    how = hiding(own, **{slider.name: slider.start for slider in sliders(own)})
    for theme in THEMES.values():
        picture = save(how.draw(theme), "svg", theme)
        assert b"<svg" in picture
    if isinstance(how, ChoiceHiding):
        assert how.choice.t == own.privacy.closest  # type: ignore[attr-defined]
    else:
        assert isinstance(how, NoiseHiding)
        levels = own.mechanism().levels  # type: ignore[attr-defined]
        assert how.hills.level == pytest.approx(levels.gradient, rel=1e-6)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_other_settings_keep_the_shares_and_cost_what_they_say(mechanism: str) -> None:
    own = terms(mechanism, privacy__epsilon=1.0, privacy__epsilon_e=0.3)
    how = hiding(own, epsilon=2.0, batch=40)
    assert isinstance(how, NoiseHiding)
    before = own.mechanism()
    assert isinstance(before, NoiseMechanism)
    more = how.hills.level / before.levels.gradient
    levels = NoiseLevels(*(more * level for level in before.levels))
    assert replace(before, levels=levels).event(40).loss.total == pytest.approx(2.0, rel=1e-6)
    assert how.hills.shift == pytest.approx(2 * before.clip / 40)
    assert how.stddev < hiding(own, epsilon=1.0, batch=40).stddev  # type: ignore[union-attr]


@pytest.mark.parametrize("mechanism", ["direction", "gaussian", "laplace"])
def test_a_task_that_is_not_private_has_no_picture(mechanism: str) -> None:
    """It would speak of what the task does not do."""
    epsilon = 40.0 if mechanism == "direction" else float("inf")
    with pytest.raises(Rejected, match="hides nothing"):
        sliders(terms(mechanism, privacy__epsilon=epsilon))


def test_a_choice_at_another_epsilon_is_the_best_one() -> None:
    how = hiding(terms("direction", privacy__epsilon=4.0), epsilon=1.0)
    assert isinstance(how, ChoiceHiding)
    assert (how.choice.k, how.choice.t, how.choice.epsilon) == (1024, 354, 1.0)
    assert "at most 73.2\u00a0% sure" in how.caption


def test_the_opposite_device_may_be_more_likely_to_send_the_needle() -> None:
    how = hiding(terms("direction", privacy__epsilon=4.0), epsilon=1.0, sent=1024)
    assert isinstance(how, ChoiceHiding)
    assert "could send the same direction too." in how.about
    yours, theirs = (how.probability_of(place) for place in (how.sent, how.choice.k + 1 - how.sent))
    assert (yours, theirs) == (how.choice.unlikely, how.choice.likely)
    written = [words.probability(p) for p in (yours, theirs)]
    assert "With these data: {}; with the opposite data: {}.".format(*written) in how.caption


def test_held_out_samples_are_in_counts_alone() -> None:
    own = terms("gaussian", privacy__epsilon=1.0, collection__heldout=0.5)
    assert "but for a chance of one in 100,000" in hiding(own, 1.0).caption


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "sure"),
    [
        ("laplace", 1.0, "73.2\u00a0% sure{}"),
        ("gaussian", 1.0, "75.2\u00a0% sure{}, but for a chance of one in 1,000,000"),
        ("gaussian", 4.0, "98.5\u00a0% sure{}, but for a chance of one in 1,000,000"),
    ],
)
def test_noise_says_how_sure_one_becomes(mechanism: str, epsilon: float, sure: str) -> None:
    """In the caption and in the title; rounded up, from 73.106, 75.1005 and 98.477."""
    how = hiding(terms(mechanism, privacy__epsilon=epsilon), epsilon)
    assert f"at most {sure.format('')}" in how.caption
    picture = how.draw(THEMES["light"])
    title = sure.format(" which of the two it was")
    lines = picture.get_suptitle().split("\n")
    assert " ".join(lines) == f"At most {title}"
    assert max(map(len, lines)) <= 52, "a longer line is cut off"


def test_the_dial_says_how_often_the_same_would_be_sent_for_the_opposite() -> None:
    own = terms("direction", privacy__epsilon=4.0)
    likely, unlikely = "1.2\u00a0%", "0.022\u00a0%"
    for sent, yours, theirs in (
        (1, likely, unlikely),
        (512, unlikely, unlikely),
        (1024, unlikely, likely),
    ):
        how = hiding(own, epsilon=4.0, sent=sent)
        said = f"ordered by its data, it is number {sent:,} of 1,024. How likely is that? "
        assert f"{said}With these data: {yours}; with the opposite data: {theirs}." in how.caption
    places = {hiding(own, epsilon=4.0).sent for _ in range(20)}
    # All twenty alike: with a chance below (1/50)^19.
    assert len(places) > 1


@pytest.mark.parametrize("epsilon", [0.01, 4.0, 19.999])
def test_the_first_dial_shows_a_difference(epsilon: float) -> None:
    own = terms("direction", privacy__epsilon=epsilon)
    for _ in range(20):
        drawn = hiding(own, epsilon=epsilon)
        assert isinstance(drawn, ChoiceHiding)
        how = drawn.illustration()
        opposite = how.choice.k + 1 - how.sent
        assert how.probability_of(how.sent) == how.choice.likely
        assert how.probability_of(opposite) == how.choice.unlikely
        assert how.caption.startswith("To show the difference, the needle’s direction was drawn")


def test_what_cannot_be_drawn_is_rejected() -> None:
    tiny_share = terms("laplace", privacy__epsilon=20.0, privacy__epsilon_e=1e-6)
    with pytest.raises(Rejected, match="this cannot be drawn"):
        hiding(tiny_share, epsilon=0.01, batch=3)
