"""Test a task's promise: no number and no sentence says more than holds."""

import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import crowdml
from crowdml import one_file_device as standalone
from crowdml.privacy import PRIVATE_UP_TO, Loss, Role
from crowdml.protocol import PRIVACY_LEVELS, Promise, Terms
from crowdml.protocol.numbers_in_words import (
    at_most_times,
    certainty_of_loss,
    four_digits_up,
    percent_sure,
)
from tests.support.servers import make_task

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "promise.json").read_text())
MOTION = {"features__count": 33, "features__sensor.kind": "motion"}


@cache
def every() -> list[Promise]:
    return [
        Promise.of(
            Terms.parse(case["terms"]), case["checkins"], [Loss(**each) for each in case["sent"]]
        )
        for case in (vector["input"] for vector in VECTORS)
    ]


def promise(mechanism: str, epsilon: float, limit: Any = None, **changes: Any) -> Promise:
    task = make_task(privacy__mechanism=mechanism, privacy__epsilon=epsilon, **changes)
    return Promise.of(task.terms, limit)


def said(promise: Promise) -> str:
    return " ".join(map(str, promise.sentences.values()))


def test_a_person_in_total() -> None:
    four = promise("direction", 4.0, collection__checkins=4)
    assert (four.whom, four.checkins, four.private, four.level.key) == (
        "person", 4, True, "moderate",
    )  # fmt: skip
    assert (four.epsilon, four.epsilon_per_person) == (4.0, 4.0)
    assert (four.epsilon_per_checkin, four.epsilon_per_sample) == (1.0, 1.0)
    assert str(four.sentences["loss"]) == (
        "Suppose somebody wonders whether your answer was “still” or “walk”, and guesses "
        "right half the time. From everything your device sends they could at worst be right 983 "
        "times in 1,000. We call that moderate."
    )
    assert str(four.sentences["less"]) == (
        "With one check-in instead of 4 it would be 74 times in 100."
    )


def test_every_role_says_what_it_sends() -> None:
    sentences = promise("direction", 4.0).sentences
    assert str(sentences["train"]).startswith("In 16 of 20 check-ins it sends one number")
    assert str(sentences["evaluate"]) == (
        "In 3 of 20 check-ins it sends only whether the model was right about one of your samples. "
        "What it sends is true 98 times in 100; otherwise it is the opposite."
    )
    assert str(sentences["count"]) == (
        "In 1 of 20 check-ins it sends only your answer to one sample. The answer sent is the true "
        "one 96 times in 100; otherwise it is made up."
    )


def test_the_short_answer_names_an_answer_that_is_sent() -> None:
    short = " ".join(map(str, promise("direction", 4.0).sending_in_short))
    assert "Your readings never leave your device." in short
    assert "Some check-ins send your answer to one sample, true 96 times in 100." in short
    without = promise("direction", 4.0, collection__counters=0.0).sending_in_short
    assert not any("your answer" in str(sentence) for sentence in without)


def test_the_reason_comes_before_the_level() -> None:
    often = promise("laplace", 1.0, 2, **MOTION, **{"features__sensor.every": 1})
    lost = [str(sentence).split(",")[0] for sentence in often.what_is_lost]
    assert "One reading" in lost[1]
    assert "Suppose" in lost[2]


def test_at_worst_has_its_exception_in_the_short_answer() -> None:
    assert promise("gaussian", 1.0).sentences["delta"] in promise("gaussian", 1.0).loss_in_short


def test_practically_always_is_called_certain() -> None:
    assert "at worst be practically certain." in str(promise("laplace", 1.0, 20).sentences["loss"])


def test_the_roles_match_the_mechanism() -> None:
    """Check that the probability in the sentence is the one with which the mechanism chooses."""
    terms = make_task(privacy__mechanism="direction", privacy__epsilon=4.0).terms
    mechanism: Any = terms.mechanism()
    for share in terms.promise.roles:
        assert share.truth == mechanism.choice_of(share.role).p
        assert share.n / share.of == pytest.approx(mechanism.roles.share(share.role))
    assert [share.role for share in terms.promise.roles] == list(Role)


def test_a_limit_lowers_what_can_be_learnt() -> None:
    two = promise("direction", 4.0, limit=2, collection__checkins=4)
    assert (two.checkins, two.epsilon_per_person, two.level.key) == (2, 2.0, "moderate")
    assert promise("direction", 4.0, limit=9, collection__checkins=4).checkins == 4


def test_what_was_sent_before_counts() -> None:
    """Check that a limit lowered later, or milder terms, do not undo what was sent."""
    terms = make_task(privacy__mechanism="laplace", privacy__epsilon=0.5).terms
    lowered = Promise.of(terms, 1, [Loss(epsilon=0.5)] * 5)
    assert (lowered.checkins, lowered.epsilon) == (5, 2.5)
    milder = Promise.of(make_task(privacy__epsilon=0.1).terms, 0, [Loss(epsilon=5.0)])
    assert (milder.epsilon, milder.level.key) == (5.0, "weak")
    beyond = Promise.of(terms, 20, [Loss(epsilon=15.0)])
    assert (beyond.epsilon, beyond.private) == (24.5, False)


@pytest.mark.parametrize(
    ("evaluators", "counters"), [(0.0004, 0.0), (1e-7, 0.05), (0.0003, 0.8997)]
)
def test_no_role_is_said_never_to_happen(evaluators: float, counters: float) -> None:
    shares = {"collection__evaluators": evaluators, "collection__counters": counters}
    roles = promise("direction", 4.0, **shares).roles
    assert all(share.n >= 1 for share in roles)
    assert sum(share.n for share in roles) == roles[0].of
    assert [share.role for share in roles][:2] == [Role.TRAIN, Role.EVALUATE]


def test_a_limit_beyond_what_is_private_is_called_so() -> None:
    lavish = promise("laplace", 0.5, limit=10_000)
    assert not lavish.private
    assert "It has ε = 5,000 for one sample in each check-in." in str(
        lavish.sentences["not_private"]
    )


def test_with_noise_check_ins_add_up() -> None:
    """Check that a task of ε = 1 for a sample costs 20 by default, and is labelled by that cost."""
    noisy = promise("laplace", 1.0)
    assert (noisy.whom, noisy.checkins, noisy.epsilon, noisy.level.key) == (
        "sample", 20, 20.0, "very-weak",
    )  # fmt: skip
    assert (noisy.epsilon_per_sample, noisy.epsilon_per_person) == (1.0, None)
    assert promise("laplace", 1.0, limit=1).level.key == "strong"
    assert promise("gaussian", 1.0).epsilon < 6, "concentrated: less than the sum"


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 1.5, 3.0, 5.0, 19.0, 20.0])
def test_no_default_is_above_what_is_private(epsilon: float) -> None:
    for mechanism in ("laplace", "gaussian"):
        usual = promise(mechanism, epsilon)
        assert usual.private
        assert usual.level.key != "none"
        assert 1 <= usual.checkins <= 20


def test_overlapping_windows_are_not_private() -> None:
    """Check that a reading in five samples of ε = 5 loses 25."""
    often = promise("laplace", 5.0, **MOTION, **{"features__sensor.every": 1})
    assert (often.whom, often.epsilon_per_reading, often.private) == ("reading", 25.0, False)
    assert "ε = 25 for a reading" in str(often.sentences["not_private"])
    assert promise("laplace", 5.0, **MOTION).private
    changes = MOTION | {"features__sensor.every": 1, "features__sensor.trigger": "label-change"}
    assert promise("laplace", 5.0, **changes).private


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_no_noise_is_no_privacy(mechanism: str) -> None:
    nobody = promise(mechanism, math.inf)
    assert (nobody.private, nobody.exact, nobody.level.key) == (False, True, "none")
    assert "never leave" not in said(nobody)
    assert "Noise is added" not in said(nobody)


def test_sentences_follow_epsilon() -> None:
    for each in every():
        text = said(each)
        weak, none = each.epsilon > 4.0 * (1 + 1e-9), each.level.key == "none"
        assert "nobody can be sure" not in text, "the loss says how sure"
        assert ("never certain" in text) <= (not weak)
        assert ("nearly certain" in text) == (weak and not none)
        assert ("never leave" in text) == each.private
        assert ("samples can be worked out" in text) == (not each.private)
        assert ("not_private" in each.sentences) == (not each.private)
        assert str(each.level.word) in str(each.sentences["loss"])


def test_the_number_beside_a_level_is_the_one_that_decided_it() -> None:
    for each in every():
        level = next(level for level in PRIVACY_LEVELS if each.epsilon <= level.most * (1 + 1e-9))
        assert each.level == level
        shown = float(four_digits_up(each.epsilon).replace(",", "").replace("∞", "inf"))
        assert level == next(level for level in PRIVACY_LEVELS if shown <= level.most), (
            "as it is written"
        )
        assert each.private == (each.epsilon <= PRIVATE_UP_TO * (1 + 1e-9)) == (level.key != "none")


def test_every_number_of_a_message_is_counted_once() -> None:
    for each in every():
        assert (each.numbers == 1) == bool(each.roles)
        if not each.roles:
            assert f"{each.numbers:,} numbers" in str(each.sentences["numbers"])


def test_nobody_is_said_to_become_entirely_sure() -> None:
    for k in range(1, 401):
        sure = percent_sure(k / 10)
        assert sure != "100"
        if k <= 250:
            assert 0 <= float(sure) - 100 * certainty_of_loss(k / 10) < 0.1, "never rounded down"
        often = str(at_most_times(certainty_of_loss(k / 10)))
        assert "100 times in 100" not in often
        if "times" in often:
            n, of = (int(figure.replace(",", "")) for figure in often.split(" times in "))
            assert 0 <= n / of - certainty_of_loss(k / 10) < 1 / of


def test_certainty_rises_with_epsilon() -> None:
    shown = [float(percent_sure(k / 10)) for k in range(1, 301)]
    assert shown == sorted(shown)


FORMER = re.compile(
    r"\b(whole_device|whole_person|epsilon_in_all|epsilon_after|epsilon_per_device|hides_all"
    r"|wholeDevice|epsilonInAll|epsilonAfter|why_not_private)\b"
)


def test_one_vocabulary() -> None:
    """Check that no former name of an ε is left in the package."""
    package = Path(crowdml.__file__).parent
    files = [*package.rglob("*.py"), *package.rglob("*.js"), *package.rglob("*.html")]
    assert len(files) > 300
    assert not [path for path in files if FORMER.search(path.read_text(encoding="utf-8"))]


def test_three_programs_agree_on_the_levels() -> None:
    script = (Path(crowdml.__file__).parent / "web" / "privacy" / "loss.js").read_text()
    assert re.findall(r"PRIVATE_UP_TO = ([\d.]+);", script) == [f"{PRIVATE_UP_TO:g}"]
    assert standalone.PRIVATE_UP_TO == PRIVATE_UP_TO
    words = [
        (level.most, str(level.word)) for level in PRIVACY_LEVELS if level.most <= PRIVATE_UP_TO
    ]
    assert list(standalone.PRIVACY_LEVELS.items()) == words
    assert words[-1][0] == PRIVATE_UP_TO
