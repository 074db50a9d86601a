"""Test advice before launch: which options are tried and recommended, and that it comes true."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.protocol import Task
from crowdml.simulation import (
    Advice,
    Crowd,
    ExpectedCrowd,
    Learning,
    Plan,
    advise,
    load_activity,
    simulate,
)
from crowdml.simulation.advice import plans
from crowdml.simulation.advice.advice import PlanOption
from crowdml.simulation.advice.plot import draw_options
from crowdml.simulation.advice.sentences import LEARNS, judge
from crowdml.simulation.datasets import DIFFICULTIES, synthetic
from tests.support.servers import make_task

CROWD = ExpectedCrowd(devices=150, samples=20)


def task(**changes: Any) -> Task:
    base: dict[str, Any] = {
        "privacy__mechanism": "direction",
        "privacy__epsilon": 4.0,
        "features__count": 10,
        "optimizer__c": None,
        "stop__updates": CROWD.devices,
    }
    return make_task(**(base | changes))


@pytest.fixture(scope="module")
def advice() -> Advice:
    return advise(task(), CROWD, trials=2)


def test_every_mechanism_is_tried(advice: Advice) -> None:
    assert {option.mechanism for option in advice.options} == {"direction", "gaussian", "laplace"}
    assert all(option.samples <= CROWD.samples for option in advice.options)
    errors = [option.error for option in advice.options]
    assert errors == sorted(errors)


def test_whole_people_come_first(advice: Advice) -> None:
    best = advice.recommended
    assert (best.mechanism, best.protects, best.epsilon_per_person) == ("direction", "person", 4.0)
    whole = [option.error for option in advice.options if option.protects == "person"]
    assert best.error <= min(whole) + 0.01


def test_liars_are_simulated_for_the_best_of_each_mechanism(advice: Advice) -> None:
    """Check that one lying device in ten costs directions little, and noise much."""
    asked = [option for option in advice.options if option.error_with_liars is not None]
    first = {option.mechanism: option for option in reversed(advice.options)}
    assert {*first.values(), advice.recommended} == set(asked)
    assert advice.own is not None
    for option in [*asked, advice.own]:
        lied = option.error_with_liars
        assert lied is not None
        assert f"{lied:.3f}" in (advice.sentence if option in asked else advice.own_sentence or "")
        assert (lied > option.error + 0.1) == (option.mechanism != "direction")
    assert "10% lie" in advice.recommended.summary


def test_a_promise_for_samples_says_what_a_person_loses(advice: Advice) -> None:
    laplace = [option for option in advice.options if option.mechanism == "laplace"]
    assert all(
        option.epsilon_per_person == pytest.approx(4.0 * option.samples) for option in laplace
    )


def test_the_advice_is_between_guessing_and_all_data(advice: Advice) -> None:
    assert advice.central_error < advice.recommended.error < advice.guess_error
    assert f"{advice.recommended.error:.3f}" in advice.sentence


def test_the_same_seed_gives_the_same_advice(advice: Advice) -> None:
    assert advise(task(), CROWD, trials=2) == advice


def test_advice_for_a_crowd_that_is_too_small() -> None:
    found = advise(task(privacy__epsilon=0.1), ExpectedCrowd(devices=50, samples=10))
    assert "will hardly learn" in found.sentence
    assert found.verdict in ("hardly", "hardly to something")


def test_devices_for_a_target() -> None:
    few = advise(task(), CROWD, mechanisms=["direction"], target_error=0.3, trials=2)
    many = advise(task(), CROWD, mechanisms=["direction"], target_error=0.15, trials=2)
    assert few.devices_needed is not None
    assert many.devices_needed is not None
    assert few.devices_needed < many.devices_needed
    never = advise(task(), CROWD, mechanisms=["direction"], target_error=1e-6, trials=1)
    assert never.devices_needed is None
    assert "was not reached" in never.sentence


def test_it_comes_true_on_data_that_resemble_the_crowds() -> None:
    """Compare the expected error of a crowd with a simulation of that very crowd."""
    data = load_activity(features="demo")
    wanted = task(features__count=12, target__labels=list(data.labels))
    expected = ExpectedCrowd(devices=108, samples=59)
    found = advise(wanted, expected, data, mechanisms=["direction"], trials=5)
    best = found.recommended
    crowd = Crowd(devices=108, batch=best.batch, checkins=best.checkins, evaluators=0.15)
    crowd = replace(crowd, counters=0.05)
    (curve,) = simulate(data, [Plan(crowd, Learning(epsilon=4.0))], trials=5, points=1)
    assert best.error == pytest.approx(curve.final, abs=0.05)
    assert best.error < 0.06


def test_minutes_follow_from_the_sensor() -> None:
    sensed = task(**{"features__sensor.kind": "motion", "features__sensor.every": 30})
    found = advise(sensed, CROWD, mechanisms=["direction"], trials=1)
    assert all(option.minutes == option.samples / 2 for option in found.options)


def test_numbers_too() -> None:
    line = task(target__labels=None, model__kind="huber", model__tolerance=0.5)
    found = advise(
        line, ExpectedCrowd(300, 20), difficulty="easy", mechanisms=["direction"], trials=2
    )
    assert found.recommended.error < found.guess_error


@pytest.mark.parametrize("scale", [1.0, 70.0])
def test_made_up_numbers_have_the_tasks_scale(scale: float) -> None:
    line = task(
        target__labels=None, target__scale=scale,
        model__kind="huber", model__delta=scale, model__tolerance=scale / 2,
    )  # fmt: skip
    found = advise(line, ExpectedCrowd(300, 20), mechanisms=["direction"], trials=1)
    assert found.central_error < 0.2 < 0.5 < found.guess_error


def test_what_the_task_reaches_as_it_is(advice: Advice) -> None:
    batch = advice.recommended.batch
    same = advise(task(collection__batch=batch), CROWD, trials=2)
    assert same.own == same.recommended == advice.recommended
    assert same.own_sentence == same.sentence
    assert same.own_verdict == same.verdict == advice.verdict
    assert same.better is None
    many = task(collection__batch=1, collection__checkins=20, stop__updates=3000)
    worse = advise(many, CROWD, trials=2)
    assert worse.own is not None
    assert (worse.own.batch, worse.own.checkins) == (1, 20)
    assert worse.own.error > worse.recommended.error + 0.05
    better = f"The same crowd should reach {worse.recommended.error:.3f} with direction and"
    assert better in (worse.own_sentence or "")
    assert worse.better == worse.recommended


def test_what_the_owner_chose_by_hand_is_simulated() -> None:
    laplace = {"privacy__mechanism": "laplace", "privacy__epsilon": 0.5, "collection__batch": 20}
    narrow, wide = (
        advise(task(**laplace, optimizer__c=1.0, model__clip=clip), CROWD, trials=2).own
        for clip in (0.1, 2.0)
    )
    assert narrow
    assert wide
    assert wide.error > narrow.error + 0.05


def test_what_a_hardship_costs() -> None:
    """Check the cost if half of the devices leave, nearly all before sending all samples."""
    hard = replace(CROWD, leaving=0.5, skew=0.3)
    found = advise(task(collection__batch=20), hard, mechanisms=["direction"], trials=4)
    easy = advise(task(collection__batch=20), CROWD, mechanisms=["direction"], trials=4)
    assert [cost.hardship for cost in found.costs] == ["leaving", "skew"]
    leaving = found.costs[0]
    assert found.own
    assert leaving.cost == found.own.error - leaving.error > 0.01
    assert "devices that leave early cost +0.0" in (found.own_sentence or "")
    assert not easy.costs


def test_settings_that_need_more_samples_are_not_simulated() -> None:
    found = advise(task(collection__batch=21), CROWD, mechanisms=["direction"], trials=1)
    nothing = (found.own, found.own_sentence, found.own_verdict, found.better)
    assert nothing == (None, None, None, None)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.09, 0.13, "well"),
        (0.13, 0.15, "something to well"),
        (0.15, 0.29, "something"),
        (0.29, 0.31, "hardly to something"),
        (0.1, 0.4, "hardly to well"),
        (0.31, 0.9, "hardly"),
    ],
)
def test_the_verdict_is_the_share_of_what_could_be_learnt(
    low: float, high: float, verdict: str
) -> None:
    option = PlanOption("direction", 1, 1, low, 0.0, low, high, "person", 1.0, None, 1)
    assert judge(0.5, 0.1, option) == verdict
    assert verdict in LEARNS
    assert judge(0.5, 0.5, replace(option, low=0.5, high=0.5)) == "hardly"


def test_of_a_crowd_that_is_too_large_a_part_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_NUMBERS", 20_000)
    found = advise(task(), ExpectedCrowd(10_000, 20), mechanisms=["direction"], trials=1)
    assert found.sentence.startswith("A part of this crowd ")
    assert "100 of 10,000 devices should reach" in found.sentence


def test_data_of_another_shape_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="the task's 10 features and 3 labels, found 12 and 3"):
        advise(task(), CROWD, load_activity(features="demo"))


@pytest.mark.parametrize("error", [-1.0, 0.0, 1.0])
def test_an_error_that_cannot_be_asked_for(error: float) -> None:
    with pytest.raises(InvalidInput, match="must be above 0 and below 1"):
        advise(task(), CROWD, target_error=error)


@pytest.mark.parametrize(("devices", "samples"), [(0, 5), (5, 0)])
def test_nobody_is_no_crowd(devices: int, samples: int) -> None:
    with pytest.raises(InvalidInput, match="must be at least 1"):
        ExpectedCrowd(devices, samples)


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_made_up_data_are_as_hard_as_they_say(difficulty: str) -> None:
    rng = np.random.default_rng(1)
    data = synthetic(4000, 12, ("a", "b", "c"), difficulty, rng)
    (curve,) = simulate(data, [Plan(Crowd(devices=1), Learning(), "central-batch")], points=1)
    assert curve.final == pytest.approx(DIFFICULTIES[difficulty], abs=0.03)
    assert (np.linalg.norm(data.x_train, axis=1) <= 1).mean() > 0.95


def test_an_unknown_difficulty_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="easy, medium, hard"):
        synthetic(10, 2, (), "odd", np.random.default_rng(0))


def test_the_picture_has_a_bar_for_each_option(advice: Advice) -> None:
    (axes,) = draw_options(advice, "Steps").axes
    assert len(axes.get_yticklabels()) == len(advice.options)


def test_a_notebook_shows_it(advice: Advice) -> None:
    shown = advice._repr_html_()
    assert shown.count("<tr") == 1 + len(advice.options)
    (bold,) = re.findall(r'<tr style="font-weight: bold">(.*?)</tr>', shown)
    assert re.findall("<td>(.*?)</td>", bold) == list(advice.recommended.summary.values())
    assert f"<p>{advice.sentence}</p>" in shown
    assert advice.plot("Steps").axes[0].get_title() == "Steps"


def test_it_is_a_frame(advice: Advice) -> None:
    pytest.importorskip("pandas")
    frame = advice.to_frame()
    assert list(frame["error"]) == [option.error for option in advice.options]
    (chosen,) = frame[frame["recommended"]].to_dict("records")
    assert chosen["batch"] == advice.recommended.batch
