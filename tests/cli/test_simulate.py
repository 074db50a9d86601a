"""Test `crowdml simulate`: fields, sweeps, figures and errors."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from crowdml.simulation import Crowd, Learning, Plan, load_digits, simulate
from crowdml.simulation.tuning import RATES
from tests.cli.command import Ran

Quick = Callable[..., Ran]
DIGITS = ("simulate", "--dataset", "digits", "--devices", 50)


@pytest.fixture
def planned(tmp_path: Path) -> Callable[..., tuple[str, ...]]:
    """Run the command with a plan file of these lines."""

    def command(*lines: str) -> tuple[str, ...]:
        (tmp_path / "plan.toml").write_text("\n".join(lines))
        return "simulate", "plan.toml"

    return command


Planned = Callable[..., tuple[str, ...]]
PLAN = ('dataset = "digits"', "devices = 50")


def test_one_setting_has_the_promised_fields(quick: Quick) -> None:
    ran = quick(
        *DIGITS, "--mechanism", "laplace", "--batch", 2, "--epsilon", 10, "--passes", 3,
        "--rate", 30, "--trials", 2, "--seed", 1, "--json",
    )  # fmt: skip
    found = ran.json()
    assert set(found) >= {"error", "errors", "epsilon", "checkins", "seconds", "rate", "reg"}
    assert found["epsilon"]["per_sample"] == 30
    assert found["epsilon"]["per_device"] >= 3 * 10 * (28 // 2)
    assert found["epsilon"]["per_person"] >= 3 * 10 * 28
    assert (found["rate"], found["reg"]) == (30, 0)
    assert found["guess_error"] > 0.8
    assert found["test_share"] == 360 / 1797
    samples, mean, std = found["errors"][-1]
    assert (samples, mean, std) == (3 * 1437, found["error"], found["std"])
    assert found["errors"][0][0] == 0
    assert found["setting"]["batch"] == 2
    paper = Learning(mechanism="laplace", epsilon=10.0, c=30.0, rate="sqrt")
    plan = Plan(Crowd(50, 2, passes=3), paper)
    curve = simulate(load_digits(), [plan], trials=2, seed=1)[0]
    assert found["error"] == curve.final
    assert found["checkins"] == curve.checkins


def test_several_values_are_a_sweep(quick: Quick) -> None:
    found = quick(
        *DIGITS, "--batch", "1,4", "--epsilon", "5,inf", "--rate", "10,100", "--delay", "0,20",
        "--json",
    ).json()  # fmt: skip
    runs = found["runs"]
    chosen = [
        (run["setting"]["batch"], run["setting"]["epsilon"], run["setting"]["delay"], run["rate"])
        for run in runs
    ]
    assert len(runs) == len(set(chosen)) == 16
    assert (4, "inf", 20.0, 100.0) in chosen
    for run in runs:
        assert set(run) >= {"error", "errors", "epsilon", "checkins", "seconds", "rate", "reg"}
        assert (run["epsilon"]["per_person"] == "inf") == (run["setting"]["epsilon"] == "inf")


def test_nothing_needs_to_be_tuned(quick: Quick) -> None:
    """Check it without a rate, with one check-in from each device."""
    found = quick(
        "simulate", "--dataset", "digits", "--batch", 5, "--epsilon", 10, "--trials", 2, "--json"
    ).json()
    assert found["setting"]["mechanism"] == "direction"
    assert found["setting"]["devices"] == found["checkins"] == 287
    assert found["epsilon"] == {"per_sample": 10, "per_device": 10, "per_person": 10}
    assert found["error"] < 0.5
    planned = Plan(Crowd(287, 5), Learning(epsilon=10.0))
    assert found["rate"] == simulate(load_digits(), [planned], trials=2)[0].c


def test_a_plan_file_and_options_say_the_same(quick: Quick, planned: Planned) -> None:
    lines = ('mechanism = "laplace"', "batch = [1, 4]", "epsilon = [5, inf]", "trials = 2")
    by_file = quick(*planned(*PLAN, *lines, "rate = 30", "seed = 1"), "--json").json()
    by_options = quick(
        *DIGITS, "--mechanism", "laplace", "--batch", "1,4", "--epsilon", "5,inf", "--rate", 30,
        "--trials", 2, "--seed", 1, "--json",
    ).json()  # fmt: skip
    for found in (by_file, *by_file["runs"], by_options, *by_options["runs"]):
        del found["seconds"]
    assert by_file == by_options


def test_options_count_more_than_the_plan_file(quick: Quick, planned: Planned) -> None:
    command = planned(*PLAN, "batch = [1, 4]", "seed = 3", "trials = 2")
    found = quick(*command, "--batch", 2, "--seed", 4, "--json").json()
    setting = found["setting"]
    assert (setting["batch"], setting["seed"], setting["trials"]) == (2, 4, 2)


def test_any_setting_can_have_several_values(quick: Quick, planned: Planned) -> None:
    found = quick(*planned(*PLAN, "skew = [0.1, 10]", "intercept = [true, false]"), "--json").json()
    chosen = [(run["setting"]["skew"], run["setting"]["intercept"]) for run in found["runs"]]
    assert chosen == [(0.1, True), (10, True), (0.1, False), (10, False)]


def test_all_that_is_wrong_in_a_plan_file_is_said_at_once(quick: Quick, planned: Planned) -> None:
    command = planned(
        'mechanism = ["direction", "rumour"]', "batch = [1, 0, 0]", "epsilon = -1",
        "evalators = 0.1", 'trials = "many"', "late = 2", "delay = []",
    )  # fmt: skip
    assert sorted(quick(*command).errors()) == [
        "batch must be a whole number from 1 to 1,000,000,000, found 0.",
        "dataset is missing. Add it.",
        "delay must be a number of at least 0, found a list.",
        "epsilon must be a number above 0, found -1.",
        "evalators is not known here. Did you mean evaluators?",
        "late must be a number from 0 to 1, found 2.",
        'mechanism must be direction, gaussian or laplace, found "rumour".',
        'trials must be a whole number from 1 to 1,000,000,000, found "many".',
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"batch =", "the plan file must be valid TOML: "),
        (b"\xff", "cannot read the plan file plan.toml: "),
        (None, "cannot read the plan file plan.toml: No such file or directory."),
    ],
)
def test_a_file_that_is_no_plan(
    quick: Quick, tmp_path: Path, content: bytes | None, says: str
) -> None:
    if content is not None:
        (tmp_path / "plan.toml").write_bytes(content)
    assert says in quick("simulate", "plan.toml").error()


def test_mechanisms_clips_and_averages_sweep_too(quick: Quick, planned: Planned) -> None:
    found = quick(
        *planned(*PLAN, "clip = [0.1, 0.2]", "averaging = [3, 8]"),
        "--mechanism", "direction,gaussian", "--batch", 7, "--epsilon", 10, "--json",
    ).json()  # fmt: skip
    settings = [run["setting"] for run in found["runs"]]
    chosen = [(one["mechanism"], one["clip"], one["averaging"]) for one in settings]
    assert chosen == [
        ("direction", None, 3), ("direction", None, 8), ("gaussian", 0.1, 3), ("gaussian", 0.1, 8),
        ("gaussian", 0.2, 3), ("gaussian", 0.2, 8),
    ]  # fmt: skip
    assert len({run["error"] for run in found["runs"]}) > 4


def test_check_ins_are_limited_and_shared_with_evaluators(quick: Quick, planned: Planned) -> None:
    given = ('dataset = "digits"', "batch = 5", "epsilon = 8", "checkins = 2", "reach = 20")
    found = quick(*planned(*given, "evaluators = 0.3"), "--json").json()
    assert found["setting"]["devices"] == 143
    assert found["checkins"] == 286
    assert found["epsilon"]["per_sample"] == 4
    assert found["epsilon"]["per_person"] == 8
    assert found["left_over"] == pytest.approx(1 - 1430 / 1437)
    everyone = quick(*planned(*given), "--json").json()
    assert found["rate"] > everyone["rate"], "planned for those that train"
    counted = quick(*planned(*given, "evaluators = 0.2", "counters = 0.1"), "--json").json()
    assert counted["rate"] == pytest.approx(found["rate"]), "counters do not train either"


@pytest.mark.parametrize("optimizer", ["adagrad", "dual-averaging", "average-gradient"])
def test_every_optimizer_runs(quick: Quick, planned: Planned, optimizer: str) -> None:
    command = planned(*PLAN, "averaging = 8", 'schedule = "constant"')
    ran = quick(*command, "--optimizer", optimizer, "--rate", 1, "--json")
    found = ran.json()
    assert found["error"] < found["errors"][0][1]
    assert ("note: average-gradient" in ran.err) == (optimizer == "average-gradient")


@pytest.mark.parametrize("approach", ["central-batch", "central-sgd", "decentral"])
def test_every_baseline_runs(quick: Quick, approach: str) -> None:
    found = quick(
        *DIGITS, "--approach", approach, "--epsilon", 50, "--passes", 2, "--rate", 10, "--json"
    ).json()
    assert 0 <= found["error"] < 0.95
    assert found["epsilon"]["per_sample"] == (0 if approach == "decentral" else 50)


def test_what_cannot_be_planned_is_chosen(quick: Quick) -> None:
    found = quick(*DIGITS, "--optimizer", "sgd,dual-averaging", "--json").json()
    planned, chosen = found["runs"]
    assert planned["rate"] not in RATES
    assert chosen["rate"] == pytest.approx(min(RATES, key=lambda c: abs(c - chosen["rate"])))


@pytest.mark.parametrize("rate", ["auto", "paper"])
def test_rate_and_reg_are_chosen(quick: Quick, rate: str) -> None:
    found = quick(*DIGITS, "--mechanism", "laplace", "--rate", rate, "--json").json()
    assert found["rate"] > 1
    assert found["error"] < 0.2
    given = quick(
        *DIGITS, "--mechanism", "laplace", "--rate", rate, "--reg", 0.001, "--json"
    ).json()
    assert given["reg"] == 0.001


def test_people_have_a_table_and_are_told_what_passes_cost(quick: Quick) -> None:
    said = quick(
        *DIGITS, "--mechanism", "laplace", "--epsilon", "10,inf", "--passes", 2, "--rate", 30
    ).said()
    assert "test error" in said
    assert "±" in said
    assert "20" in said
    assert "is in P check-ins" in said


def test_a_table_fits_the_screen_and_says_what_to_compare_with(
    quick: Quick, planned: Planned
) -> None:
    said = quick(
        *planned(*PLAN, "averaging = [3, 8]"), "--mechanism", "direction,gaussian,laplace",
        "--batch", "1,28", "--epsilon",
        "1,10,inf", "--delay", "0,10", "--passes", "1,2",
    ).said()  # fmt: skip
    assert max(map(len, said.splitlines())) <= 80
    assert "Always guessing the most frequent label errs at 0.9" in said
    assert "Tested on 360 held-out samples, 20 % of all." in said
    few = quick(*DIGITS, "--mechanism", "direction,gaussian", "--batch", 7, "--epsilon", 4).said()
    assert max(map(len, few.splitlines())) <= 80
    assert "ε/person" in few


def test_samples_without_use_are_told(quick: Quick) -> None:
    said = quick(*DIGITS, "--batch", 20, "--epsilon", 10).said()
    assert "30 %" in said
    assert "Left over" in said
    said = quick(*DIGITS, "--batch", 100, "--epsilon", 10).said()
    assert "100 %" in said
    assert "Rows with 0 check-ins learnt nothing" in said


def test_devices_may_be_late_leave_and_differ(quick: Quick, planned: Planned) -> None:
    unequal = ("late = 0.5", "leaving = 0.5", "skew = 1", "spread = 1", "buffer = 10")
    command = planned(*PLAN, *unequal, 'delay_law = "exponential"')
    found = quick(*command, "--rate", 30, "--delay", 5, "--json").json()
    assert 0 < found["checkins"] < 1437


def test_devices_default_to_people_or_to_one_check_in_each(quick: Quick) -> None:
    given = ("simulate", "--dataset", "activity", "--batch", 50, "--json")
    assert quick(*given, "--mechanism", "gaussian").json()["setting"]["devices"] == 18
    found = quick(*given).json()
    assert found["setting"]["devices"] == found["checkins"] == 120


def test_own_numbers_are_learnt_by_huber(quick: Quick, planned: Planned, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.dirichlet(np.ones(4), 400)
    np.savez(tmp_path / "own.npz", X=x, y=x @ [1.0, 2.0, 3.0, 4.0])
    given = planned('dataset = "own.npz"', "passes = 5", "tolerance = 0.5")
    found = quick(*given, "--mechanism", "laplace", "--clip", 1, "--rate", 10, "--json").json()
    assert found["error"] < 0.2 < found["errors"][0][1]
    untuned = quick(*given, "--batch", 2, "--json").json()
    assert untuned["error"] < 0.2
    assert untuned["rmse"] < 0.5
    said = quick(*given, "--batch", 2).said()
    assert "RMSE" in said
    assert "Always guessing the median" in said


@pytest.mark.parametrize("name", ["figure.png", "figure.svg"])
def test_figure_is_drawn(quick: Quick, tmp_path: Path, name: str) -> None:
    quick(*DIGITS, "--rate", 30, "--batch", "1,5", "--trials", 2, "--plot", name, "--json").json()
    content = (tmp_path / name).read_bytes()
    assert content.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
    assert len(content) > 5000


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (['schedule = "sqrt"'], "the planned rate is constant, found the schedule sqrt."),
        (["evaluators = 1"], "shares that add up to at most 0.9, found 1 and 0"),
        (
            ["evaluators = 0.5", "counters = 0.41"],
            "evaluators and counters must be shares that add up to at most 0.9, found 0.5 and 0.41",
        ),
        (['model = "forest"'], "model must be softmax, hinge, ridge or huber"),
        (['model = "huber"'], "huber predicts a number and takes no"),
        (["averaging = 1001"], "averaging must lie in 0 … 1000, found 1001.0. Leave it out for"),
        (["radius = 1e13"], "radius must lie in 1e-12 … 1e+12, found 10000000000000.0"),
        (['delay_law = "cubic"'], "delay_law must be uniform, constant, exponential or lognormal"),
        (
            ["points = 10000000"],
            "points must be a whole number from 1 to 1,000,000, found 10000000",
        ),
        (
            ["trials = [1, 2]"],
            "trials must be a whole number from 1 to 1,000,000,000, found a list",
        ),
    ],
)
def test_wrong_values_in_a_plan_file(
    quick: Quick, planned: Planned, lines: list[str], says: str
) -> None:
    assert says in quick(*planned(*PLAN, *lines)).error()


def test_a_pilot_by_options_and_by_a_plan_file(quick: Quick, planned: Planned) -> None:
    lines = ("skew = 0.3", "pilot = 100", "epsilon = [1, 4]", "batch = 20")
    by_file = quick(*planned(*PLAN, *lines), "--json").json()
    by_options = quick(
        *DIGITS, "--skew", 0.3, "--pilot", 100, "--epsilon", "1,4", "--batch", 20, "--json"
    ).json()
    for found, other in zip(by_file["runs"], by_options["runs"], strict=True):
        assert found["pilot_error"] == found["errors"][0][1] < by_file["guess_error"]
        assert found["setting"]["pilot"] == 100
        assert found["errors"] == other["errors"]
    assert "pilot alone" in quick(*DIGITS, "--pilot", 100, "--batch", 20).said()
    said = quick(*DIGITS, "--pilot", 100, "--pilot-people", 2).error()
    assert "does not say whose samples they are" in said


def test_columns_in_different_units_are_noted(quick: Quick, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(200, 2)) * [1, 1000]
    np.savez(tmp_path / "own.npz", X=x, y=x[:, 0] > 0)
    ran = quick("simulate", "--dataset", "own.npz", "--batch", 5, "--epsilon", "1,4", "--json")
    ran.json()
    assert ran.err.count("columns differ in size") == 1
    assert "scale = [" in ran.err
