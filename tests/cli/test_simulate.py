"""`crowdml simulate`: fields, sweeps, figures, and one clear line for what is wrong."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from crowdml.simulation import Crowd, Learning, Plan, load_digits, simulate
from tests.cli.command import Command, Ran

Quick = Callable[..., Ran]
DIGITS = ("simulate", "--dataset", "digits", "--devices", 50)


def test_one_setting_has_the_promised_fields(crowdml: Command) -> None:
    ran = crowdml(
        *DIGITS, "--batch", 2, "--epsilon", 10, "--passes", 3, "--rate", 30, "--trials", 2,
        "--seed", 1, "--json",
    )  # fmt: skip
    found = ran.json()
    assert set(found) >= {"error", "errors", "epsilon", "checkins", "seconds", "rate", "reg"}
    assert found["epsilon"]["per_sample"] == 30
    assert found["epsilon"]["per_device"] >= 3 * 10 * (28 // 2)
    assert (found["rate"], found["reg"]) == (30, 0)
    samples, mean, std = found["errors"][-1]
    assert (samples, mean, std) == (3 * 1437, found["error"], found["std"])
    assert found["errors"][0][0] == 0
    assert found["setting"]["batch"] == 2
    plan = Plan(Crowd(50, 2, passes=3), Learning(epsilon=10.0, c=30.0))
    curve = simulate(load_digits(), [plan], trials=2, seed=1)[0]
    assert found["error"] == curve.final
    assert found["checkins"] == curve.checkins


def test_infinite_epsilon_is_text_in_json(quick: Quick) -> None:
    found = quick(*DIGITS, "--rate", 100, "--json").json()
    assert found["epsilon"] == {"per_sample": "inf", "per_device": "inf"}
    assert found["setting"]["epsilon"] == "inf"


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


@pytest.mark.parametrize("optimizer", ["adagrad", "dual-averaging", "average-gradient", "auto"])
def test_every_optimizer_runs(quick: Quick, optimizer: str) -> None:
    ran = quick(
        *DIGITS, "--optimizer", optimizer, "--rate", 1, "--averaging", 8, "--schedule", "constant",
        "--json",
    )  # fmt: skip
    found = ran.json()
    assert found["error"] < found["errors"][0][1]
    assert (found["rate"] is None) == (optimizer == "auto")
    assert ("note: average-gradient" in ran.err) == (optimizer == "average-gradient")


@pytest.mark.parametrize("approach", ["central-batch", "central-sgd", "decentral"])
def test_every_baseline_runs(quick: Quick, approach: str) -> None:
    found = quick(
        *DIGITS, "--approach", approach, "--epsilon", 50, "--passes", 2, "--rate", 10, "--json"
    ).json()
    assert 0 <= found["error"] < 0.95
    assert found["epsilon"]["per_sample"] == (0 if approach == "decentral" else 50)


@pytest.mark.parametrize("rate", ["auto", "paper"])
def test_rate_and_reg_are_chosen(quick: Quick, rate: str) -> None:
    found = quick(*DIGITS, "--rate", rate, "--json").json()
    assert found["rate"] > 1
    assert found["error"] < 0.2
    given = quick(*DIGITS, "--rate", rate, "--reg", 0.001, "--json").json()
    assert given["reg"] == 0.001


def test_people_have_a_table_and_are_told_what_passes_cost(quick: Quick) -> None:
    said = quick(*DIGITS, "--epsilon", "10,inf", "--passes", 2, "--rate", 30).said()
    assert "test error" in said
    assert "±" in said
    assert "20" in said
    assert "P·ε" in said


def test_devices_may_be_late_leave_and_differ(quick: Quick) -> None:
    found = quick(
        *DIGITS, "--late", 0.5, "--leaving", 0.5, "--skew", 1, "--spread", 1, "--rate", 30,
        "--buffer", 10, "--delay", 5, "--delay-law", "exponential", "--json",
    ).json()  # fmt: skip
    assert 0 < found["checkins"] < 1437


def test_devices_default_to_people(quick: Quick) -> None:
    found = quick("simulate", "--dataset", "activity", "--rate", 10, "--json").json()
    assert found["setting"]["devices"] == 18


def test_own_numbers_are_learnt_by_huber(quick: Quick, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.dirichlet(np.ones(4), 400)
    np.savez(tmp_path / "own.npz", X=x, y=x @ [1.0, 2.0, 3.0, 4.0])
    found = quick(
        "simulate", "--dataset", "own.npz", "--passes", 5, "--rate", 10, "--tolerance", 0.5,
        "--clip", 1, "--json",
    ).json()  # fmt: skip
    assert found["error"] < 0.2 < found["errors"][0][1]


@pytest.mark.parametrize("name", ["figure.png", "figure.svg"])
def test_figure_is_drawn(quick: Quick, tmp_path: Path, name: str) -> None:
    quick(*DIGITS, "--rate", 30, "--batch", "1,5", "--trials", 2, "--plot", name, "--json").json()
    content = (tmp_path / name).read_bytes()
    assert content.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
    assert len(content) > 5000


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--approach", "magic"], "approach must be one of"),
        (["--batch", "0"], "--batch must be whole numbers of at least 1, found '0'"),
        (["--batch", "1,,2"], "--batch must be numbers with commas between them, found '1,,2'"),
        (["--epsilon", "-1"], "epsilon must be positive, found -1.0. Use inf for no noise."),
        (["--epsilon", "much"], "--epsilon must be numbers with commas between them"),
        (["--rate", "fast"], "or auto or paper, found 'fast'"),
        (["--rate", "-1"], "the rate must be positive and finite, found -1"),
        (["--delay", "-1"], "a delay must be finite and not negative, found -1"),
        (["--devices", "5000"], "digits can be dealt to 1 … 1437 devices, found 5000"),
        (["--optimizer", "adam"], "optimizer must be one of"),
        (["--model", "forest"], "model must be one of"),
        (["--model", "huber"], "huber predicts a number and takes no"),
        (["--trials", "0"], "trials must be at least 1"),
        (["--late", "2"], "the share of late devices must lie in 0 … 1, found 2"),
        (["--plot", "figure.doc"], "must end in .pdf, .png, .svg, found 'figure.doc'"),
        (["--plot", "none/figure.png"], "the figure's folder must exist, found none"),
        (["--engine", "spark"], "engine must be ray or dask"),
        (["--points", "0"], "points must be at least 1, found 0"),
        (["--dataset", "nothing"], "the data set must be"),
    ],
)
def test_wrong_values_are_one_clear_line(quick: Quick, options: list[str], says: str) -> None:
    base = [*DIGITS, "--rate", "1"]
    assert says in quick(*base, *options).error()


def test_wrong_usage_is_told_apart(quick: Quick) -> None:
    assert quick("simulate").code == 2
    assert quick(*DIGITS, "--delay-law", "cubic").code == 2
