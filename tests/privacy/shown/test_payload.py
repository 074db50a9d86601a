"""Test what people are shown about noise: pictures, worked examples and probabilities."""

import numpy as np
import pytest

from crowdml.privacy import GAUSSIAN, LAPLACE, CheckinKey, Law, Loss, NoiseLevels, NoiseMechanism
from crowdml.privacy.shown.payload import WatchedMinibatch
from tests.privacy.given_minibatch import GivenMinibatch
from tests.privacy.seeded_chance import SeededChance

PLACE = CheckinKey("00" * 32, "ana", 1)
LAW = pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=lambda law: law.name)


def mechanism(law: Law, size: int = 2, heldout: float = 0.0) -> NoiseMechanism:
    delta, levels = 0.0 if law.pure else 1e-6, NoiseLevels(0.5, 0.25, 0.125)
    return NoiseMechanism(
        law, levels, 2.0, size, 3, heldout=heldout, regularization=0.5, delta=delta
    )


@LAW
def test_the_hills_of_another_epsilon(law: Law) -> None:
    """Check that all levels grow alike, so the level of the gradient stays 4/7 of the whole."""
    made = mechanism(law, heldout=0.0)
    whole = made.event(20).loss
    same, more = (made.picture(epsilon, 20) for epsilon in (whole.total, 2 * whole.total))
    assert same.level == pytest.approx(0.5)
    assert same.loss.total == pytest.approx(whole.total)
    assert (same.loss.delta, same.batch, same.law) == (made.delta, 20, law)
    part = Loss(epsilon=more.level * 1.75) if law.pure else Loss(0.0, more.level * 1.75, 1e-6)
    assert part.total == pytest.approx(2 * whole.total)
    assert same.shift == pytest.approx(2 * 2.0 / 20)
    assert same.step == 2.0 ** made.grid(20)
    assert same.sensitivity == made.event(20).releases[0].sensitivity
    assert same.scale == pytest.approx(same.sensitivity / law.strength(0.5))
    assert same.numbers == 0


@LAW
def test_odds_follow_the_law(law: Law) -> None:
    """Compare with log P/P′ of every part, summed over its numbers by the definition of the law."""
    made = mechanism(law)
    one = GivenMinibatch(np.array([0.5, -0.25]), w=np.array([0.5, 0.25]))
    two = GivenMinibatch(
        np.array([0.25, 0.5]),
        wrong=np.arange(20) < 5,
        w=one.w,
        labels=np.repeat([0, 1, 2], [6, 6, 8]),
    )
    event = made.event(20)
    sent = [
        made.make_payload(side, event, PLACE, SeededChance(seed))
        for seed, side in ((1, one), (2, two))
    ]
    log_ratios = made.log_ratios(sent, [one, two], PLACE)
    step, parts = 2.0 ** made.grid(20), {"gradient": [0, 1], "errors": [2], "labels": [3, 4, 5]}
    first, second = (
        np.concatenate(
            [
                np.rint(side.g / step) + np.rint(0.5 * side.w / step),
                [side.mistakes().sum()],
                np.bincount(side.labels),
            ]
        )
        for side in (one, two)
    )
    for i, payload in enumerate(sent):
        output = np.array(
            [*np.frombuffer(payload.gradient, "<i4"), payload.errors, *payload.labels]
        )
        far, farther = (abs(output - centre) ** law.norm / law.norm for centre in (first, second))
        total = 0.0
        for release in event.releases:
            scale = release.sensitivity / law.strength(release.level)
            expected = (farther - far)[parts[release.what]].sum() / scale**law.norm
            total += expected
            loss, scores = log_ratios[release.what]
            assert scores[i] == pytest.approx(expected)
            assert loss == made._loss(release.level)
        assert log_ratios["checkin"][1][i] == pytest.approx(total)
    assert log_ratios["checkin"][0] == event.loss
    assert made._loss(0.5) == (Loss(epsilon=0.5) if law.pure else Loss(rho=0.5, delta=1e-6))


@pytest.mark.parametrize("heldout", [0.0, 0.25])
def test_an_example_shows_six_numbers_of_each_kind(heldout: float) -> None:
    made = mechanism(LAPLACE, size=8, heldout=heldout)
    watched = WatchedMinibatch(GivenMinibatch(np.arange(8) / 32, w=np.zeros(8)))
    payload = made.make_payload(watched, made.event(20), PLACE, SeededChance())
    shown = made.show(payload, watched, PLACE, ["a", "b", "c"])
    ((training, _),) = watched.asked
    evaluated = ~training if heldout else training
    g = made.read(payload, PLACE).g
    assert g is not None
    assert [row.true for row in shown.rows[:6]] == [k / 32 for k in range(6)]
    assert [row.sent for row in shown.rows[:6]] == g[:6].tolist()
    assert [str(row.what) for row in shown.rows[:2]] == ["number 1", "number 2"]
    wrong = int((np.arange(20) < 3)[evaluated].sum())
    assert shown.rows[6][1:] == (wrong, payload.errors)
    assert [row[1:] for row in shown.rows[7:]] == list(zip([5, 7, 8], payload.labels, strict=True))
    assert (shown.more, shown.chosen) == (2, None)


def test_an_example_that_shows_everything() -> None:
    made, watched = (
        mechanism(LAPLACE),
        WatchedMinibatch(GivenMinibatch(np.array([0.5, 0.25]), w=np.zeros(2))),
    )
    payload = made.make_payload(watched, made.event(20), PLACE, SeededChance())
    shown = made.show(payload, watched, PLACE, ["a", "b", "c"])
    assert (len(shown.rows), shown.more) == (2 + 1 + 3, 0)
