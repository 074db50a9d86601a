"""Test advice on a pilot: tests use only rows that no start or crowd has seen.

All data, crowds and noise are drawn with fixed seeds, so no test can fail at random.
"""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from crowdml.errors import InvalidInput
from crowdml.pilot import PilotSamples, fit_start
from crowdml.privacy import bound_rows
from crowdml.protocol import Start, Task
from crowdml.simulation import EpsilonOption, ExpectedCrowd, PilotAdvice, hold_out, pilot_advice
from crowdml.simulation.advice import cross_fitting
from crowdml.simulation.advice.cross_fitting import make_turns
from crowdml.simulation.advice.pilot_search import recommended_of, verdict_of
from crowdml.simulation.advice.pilot_sentences import (
    target_sentence,
    verdict_sentence,
    what_is_unknown,
    what_to_do,
)
from crowdml.types import Array, Flags, Ints

FILE = """\
name = "room"
title = "Room"
objective = "to learn"
owner = "Jane Doe"
contact = "jane@example.org"
purpose = "a free app"
sensors = "light and warmth"
[features]
names = ["light", "warmth"]
center = [300.0, 21.0]
scale = [250.0, 3.0]
length = 2.0
[target]
labels = ["cold", "warm"]
[model]
kind = "softmax"
start = "room.start.npz"
[privacy]
epsilon = 1.0
[collection]
batch = 10
[stop]
updates = 30
"""
CROWD = ExpectedCrowd(devices=30, samples=10)


def samples(people: int | None = 6, rows: int = 120, noise: float = 0.5) -> PilotSamples:
    """Draw rooms of which warm ones are mostly voted warm; light does not matter."""
    rng = np.random.default_rng(7)
    x = np.column_stack([rng.normal(300, 250, rows), rng.normal(21, 3, rows)])
    y = (x[:, 1] - 21 + 3 * noise * rng.normal(size=rows) > 0).astype(float)
    return PilotSamples(x, y, None if people is None else np.arange(rows) % people)


def make_task(pilot: PilotSamples, **changes: object) -> Task:
    """Make the task that starts from this pilot."""
    blank = Task.from_toml(FILE.replace('start = "room.start.npz"\n', ""))
    x = blank.terms.features.scaled_rows(pilot.x)
    fitted = fit_start(blank.terms.make_model(), x, pilot.y, pilot.people)
    features = blank.terms.features
    start = Start(
        "softmax",
        ("cold", "warm"),
        fitted.w[:4].reshape(2, 2),
        fitted.w[4:],
        features.names,
        features.center,
        features.scale,
        features.length,
        rows=len(pilot.y),
        people=pilot.n_people,
        distance=fitted.distance,
        error=fitted.error,
        error_margin=fitted.error_margin,
    )
    return Task.from_toml(FILE, start=replace(start, **changes))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def advice() -> PilotAdvice:
    pilot = samples()
    return pilot_advice(make_task(pilot), CROWD, pilot, trials=1)


def option(epsilon: float, error: float, verdict: str = "improves") -> EpsilonOption:
    return EpsilonOption(
        "direction", 1, 1, error, 0.0, error - 0.02, error + 0.02, "person", epsilon, None, 1,
        epsilon, verdict,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize("people", [6, 3, None])
def test_a_turn_never_uses_a_row_twice(people: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    pilot, fitted = samples(people), []

    def fit(model: object, x: Array, *rest: object, **more: object) -> object:
        fitted.append({tuple(row) for row in x.tolist()})
        return fit_start(model, x, *rest, **more)  # type: ignore[arg-type]

    task = make_task(pilot)
    monkeypatch.setattr(cross_fitting, "fit_start", fit)
    turns, tested = make_turns(task, pilot, seed=0), set()
    for turn, start in zip(turns, fitted, strict=True):
        crowd = {tuple(row) for row in turn.data.x_train.tolist()}
        test = {tuple(row) for row in turn.data.x_test.tolist()}
        assert len(start | crowd | test) == len(start) + len(crowd) + len(test) == len(pilot.y)
        assert len(start) == turn.start.rows
        tested |= test
    assert len(tested) == len(pilot.y)


def test_whole_people_are_kept_apart_where_there_are_five() -> None:
    pilot = samples(6)
    task = make_task(pilot)
    assert pilot.people is not None
    x = bound_rows(task.terms.features.scaled_rows(pilot.x), 2)
    owner = dict(zip(map(tuple, x.tolist()), pilot.people.tolist(), strict=True))
    for turn in make_turns(task, pilot, seed=0):
        assert turn.people is not None
        tested = {owner[tuple(row)] for row in turn.data.x_test.tolist()}
        assert tested.isdisjoint(turn.people.tolist())


def test_a_member_has_rows_of_one_person() -> None:
    pilot = samples(3)
    for turn in make_turns(make_task(pilot), pilot, seed=0):
        drawn = turn.draw(8, 5, False, None, np.random.default_rng(0))
        assert turn.people is not None
        pairs = zip(turn.data.x_train.tolist(), turn.people.tolist(), strict=True)
        owner = {tuple(row): person for row, person in pairs}
        for member in range(8):
            rows = drawn.x_train[drawn.person == member].tolist()
            assert len(rows) == 5
            assert len({owner[tuple(row)] for row in rows}) == 1
        assert len(set(turn.draw(8, 5, True, None, np.random.default_rng(0)).person.tolist())) == 1


def test_people_with_one_label_each_are_cut_by_rows() -> None:
    pilot = samples(5)
    pilot = replace(pilot, people=np.where(pilot.y > 0, 4, np.arange(len(pilot.y)) % 4))
    assert all(turn.start.rows == 48 for turn in make_turns(make_task(pilot), pilot, seed=0))


def test_what_is_said_and_in_which_order(advice: PilotAdvice) -> None:
    names = [name for name, _, _ in advice.comparison]
    assert names == [
        "guessing", "the pilot alone", "this crowd, at the task's ε = 1",
        "at ε = 0.5", "at ε = 1", "at ε = 2", "at ε = 4", "at ε = 8",
    ]  # fmt: skip
    assert advice.own in advice.options
    assert advice.recommended == recommended_of(advice.options)
    assert advice.sentence.startswith(f"Recommended: ε = {advice.recommended.epsilon:g}.")
    assert advice.unknown.startswith("A pilot of 6 people does not show how different 30 are.")
    assert "a real crowd may add more" in advice.unknown
    assert advice.central_error < advice.guess_error
    assert f"{advice.pilot_error:.3f}" in " ".join(advice.comment)
    assert advice.cross_fitted


def test_liars_are_simulated_for_the_own_epsilon_and_the_recommended_one(
    advice: PilotAdvice,
) -> None:
    asked = {each.epsilon for each in advice.options if each.error_with_liars is not None}
    assert asked == {advice.own.epsilon, advice.recommended.epsilon}
    assert f"the error is {advice.own.error_with_liars:.3f}." in advice.own_sentence


def test_the_same_seed_gives_the_same_advice(advice: PilotAdvice) -> None:
    pilot = samples()
    assert pilot_advice(make_task(pilot), CROWD, pilot, trials=1) == advice


def test_a_notebook_and_a_picture_show_it(advice: PilotAdvice) -> None:
    shown = advice._repr_html_()
    assert shown.count("<tr") == 1 + len(advice.comparison)
    assert f"at ε = {advice.recommended.epsilon:g}" in shown.split("bold")[1]
    (axes,) = advice.plot("Room").axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.5", "1", "2", "4", "8"]
    pytest.importorskip("pandas")
    assert list(advice.to_frame()["epsilon"]) == [0.5, 1, 2, 4, 8]


def test_other_rows_leave_the_start_as_it_is() -> None:
    pilot = samples()
    task = make_task(pilot)
    others = samples(None, rows=60)
    assert task.start is not None
    turns = make_turns(task, others, seed=0)
    assert all(turn.start.w == tuple(task.start.w.tolist()) for turn in turns)
    assert all(len(turn.data.y_train) == 48 for turn in turns)
    found = pilot_advice(task, CROWD, others, trials=1)
    assert not found.cross_fitted
    assert "are not the pilot of the start, which had 120" in found.unknown


def test_a_wrong_start_is_improved_by_many() -> None:
    """Check a start that calls cold rooms warm, with a crowd that answers correctly."""
    task, others = make_task(samples()), samples(None, rows=200, noise=0.1)
    assert task.start is not None
    data = (-task.start.w).astype("<f4").tobytes()
    task = msgspec.structs.replace(task, start=msgspec.structs.replace(task.start, data=data))
    task = msgspec.structs.replace(
        task, optimizer=msgspec.structs.replace(task.optimizer, reach=40.0)
    )
    found = pilot_advice(task, ExpectedCrowd(300, 10), others, trials=1, target_error=0.3)
    assert found.pilot_error > 0.8
    assert found.options[-1].verdict == "improves"
    assert found.options[-1].error < 0.3
    assert found.devices_needed is not None
    assert found.devices_needed > 0
    assert f"An error of 0.3 needs about {found.devices_needed:,} people" in found.own_sentence


def test_two_people_leave_the_pilot_as_it_is() -> None:
    """Check that two people keep the pilot's error; from zero, they would end near guessing."""
    pilot = samples(None)
    found = pilot_advice(make_task(pilot), ExpectedCrowd(2, 10), pilot, trials=1)
    assert found.options[0].error == pytest.approx(found.pilot_error, abs=0.05)
    assert found.pilot_error + 0.1 < found.guess_error


def test_a_target_that_the_pilot_has_needs_nobody() -> None:
    pilot = samples()
    found = pilot_advice(make_task(pilot), CROWD, pilot, trials=1, target_error=0.9)
    assert found.devices_needed == 0
    assert "The pilot alone has an error of at most 0.9." in found.own_sentence


@pytest.mark.parametrize(
    ("errors", "epsilon"),
    [
        ((0.2, 0.2, 0.2, 0.2, 0.2), 0.5),
        ((0.3, 0.25, 0.209, 0.2, 0.2), 2),
        ((0.3, 0.25, 0.22, 0.22, 0.2), 8),
        ((0.3, 0.1, 0.3, 0.2, 0.2), 1),
    ],
)
def test_the_smallest_epsilon_that_is_as_good(errors: tuple[float, ...], epsilon: float) -> None:
    options = [option(*pair) for pair in zip((0.5, 1, 2, 4, 8), errors, strict=True)]
    assert recommended_of(options).epsilon == epsilon


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ((0.03, 0.04, 0.02, 0.03, 0.03), "improves"),
        ((0.1, 0.0, 0.0, 0.0, 0.0), "unclear"),
        ((0.004, 0.004, 0.004, 0.004, 0.004), "nothing"),
        ((-0.1, 0.0, 0.0, 0.0, 0.0), "nothing"),
        ((-0.03, -0.04, -0.02, -0.03, -0.03), "worsens"),
    ],
)
def test_the_verdict_compares_turn_by_turn(gains: tuple[float, ...], verdict: str) -> None:
    assert verdict_of(-np.array(gains)[:, None]) == verdict


def test_sentences() -> None:
    def said(verdict: str, remedy: str = "") -> str:
        return verdict_sentence("300 people", 0.2, option(1, 0.17, verdict), remedy)

    improved = "300 people at ε = 1 improve the pilot from 0.20 to 0.17 (0.15 to 0.19)."
    assert said("improves") == improved
    nothing = "300 people at ε = 1 add nothing to your pilot; ask 3,000, or do not ask."
    assert said("nothing", what_to_do(3000, 3000)) == nothing
    assert said("worsens", what_to_do(None, 900)).endswith(
        "; nor do 900 who draw from the same rows."
    )
    assert "may improve" in said("unclear")
    assert target_sentence(0.1, None, 900, 1.0).startswith("An error of 0.1 was not reached with")
    one = PilotSamples(np.zeros((4, 1)), np.zeros(4), np.zeros(4, np.int64))
    assert what_is_unknown(one, 400, 4, True).startswith("A pilot of 1 person does not show")
    nobody = replace(one, people=None)
    assert "do not say whose they are" in what_is_unknown(nobody, 400, 4, True)


def test_a_batch_that_is_too_large_for_a_member_is_cut() -> None:
    pilot = samples(None)
    found = pilot_advice(make_task(pilot), ExpectedCrowd(20, 4), pilot, trials=1)
    assert found.own.batch == 4


def test_data_for_a_task_without_a_start_are_scaled() -> None:
    pilot = samples(None)
    data = hold_out(make_task(pilot), pilot)
    assert (len(data.y_train), len(data.y_test)) == (96, 24)
    assert np.abs(data.x_train).max() <= 3


@pytest.mark.parametrize(
    ("rows", "target", "sentence"),
    [(120, 1.0, "must be above 0 and below 1"), (9, None, "needs at least 10 rows, found 9")],
)
def test_what_cannot_be_planned(rows: int, target: float | None, sentence: str) -> None:
    keep: Ints | Flags = np.arange(rows)
    pilot = samples().take(keep)
    with pytest.raises(InvalidInput, match=sentence):
        pilot_advice(make_task(samples()), CROWD, pilot, trials=1, target_error=target)


def test_a_task_without_a_start() -> None:
    task = Task.from_toml(FILE.replace('start = "room.start.npz"\n', ""))
    with pytest.raises(InvalidInput, match="needs a task with a start"):
        pilot_advice(task, CROWD, samples(), trials=1)
