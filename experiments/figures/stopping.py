"""Measure the stopping rule: false stops over whole tasks, liars, and what both cost honest crowds.

Run: PYTHONPATH=. python experiments/figures/stopping.py
    [devices|false|noise|liars|honest|roles] [--runs N]
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from crowdml.learning import LIARS_TOLERATED, Evidence, StoppingRule
from crowdml.learning.stopping import ONE, WindowSums
from crowdml.privacy import CheckinKey, Role, Roles
from crowdml.protocol import Task

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PEOPLE, EACH = 600, 5
"""The people of a task, and the reports of each where people report more than once."""

BATCH = 52
"""The predictions behind a report, where noise protects them."""

TASK = """
name = "figures"
title = "Figures"
objective = "to measure"
owner = "Jane Doe"
contact = "jane@example.org"
purpose = "figures that are true"
sensors = "none"
[features]
count = 4
[target]
labels = [{labels}]
[model]
kind = "softmax"
[privacy]
epsilon = {epsilon}
[collection]
batch = 1
evaluators = {evaluators}
[stop]
error = {error}
updates = {updates}
confidence = {confidence}
"""

NOISY = TASK.replace("[privacy]", '[privacy]\nmechanism = "{mechanism}"').replace(
    "batch = 1\nevaluators = {evaluators}", f"batch = {BATCH}"
)


def rule_of(
    epsilon: float, error: float, reports: int, confidence: float = 0.999, classes: int = 3
) -> StoppingRule:
    """Return the rule of a task with about this many reports until T_max; one check-in a person."""
    labels = ", ".join(f'"{k}"' for k in range(classes))
    evaluators = 0.15
    task = Task.from_toml(
        TASK.format(
            labels=labels,
            epsilon=epsilon,
            error=error,
            evaluators=evaluators,
            updates=round(reports / evaluators),
            confidence=confidence,
        )
    )
    rule = StoppingRule.of(task, task.terms.mechanism())
    assert rule is not None
    return rule


def noisy_rule_of(
    mechanism: str, epsilon: float, error: float, reports: int, confidence: float, devices: int
) -> StoppingRule:
    """Return the rule of a task with noise, in which every check-in reports."""
    task = Task.from_toml(
        NOISY.format(
            labels='"0", "1", "2"',
            mechanism=mechanism,
            epsilon=epsilon,
            error=error,
            updates=reports,
            confidence=confidence,
        )
        + f"devices = {devices}\n"
    )
    rule = StoppingRule.of(task, task.terms.mechanism())
    assert rule is not None
    return rule


# Crowds


def errors_of_people(kind: str, error: float, n: int, rng: np.random.Generator) -> Floats:
    """Draw the error of the model for each person; on average it is `error`."""
    if kind == "alike":
        return np.full(n, error)
    if kind == "differ":  # the correlation between a person's predictions is 0.3
        return rng.beta(error * 7 / 3, (1 - error) * 7 / 3, n)
    if kind == "a fifth":  # of the people has all the errors
        return np.where(rng.random(n) < 0.2, 5 * error, 0.0)
    assert kind == "a tenth"  # of the people has nothing but errors
    return np.where(rng.random(n) < 0.1, 1.0, (error - 0.1) / 0.9)


def randomised(wrong: Bools, epsilon: float, rng: np.random.Generator) -> Bools:
    """Randomise right or wrong, as devices send it."""
    return wrong ^ (rng.random(wrong.shape) < 1 / (math.exp(epsilon) + 1))


def bursts(
    kind: str, error: float, epsilon: float, in_a_row: bool, liars: float, rng: np.random.Generator
) -> tuple[Ints, Bools]:
    """Draw who reports what over a whole task; this share of people always says "right"."""
    own = errors_of_people(kind, error, PEOPLE, rng)
    devices = np.repeat(np.arange(PEOPLE), EACH)
    if not in_a_row:
        rng.shuffle(devices)
    says = randomised(rng.random(len(devices)) < own[devices], epsilon, rng)
    lying = rng.choice(PEOPLE, round(liars * PEOPLE), replace=False)
    return devices, says & ~np.isin(devices, lying)


def single_reports(errors: Floats, epsilon: float, liars: float, rng: np.random.Generator) -> Bools:
    """Draw one report each of people with this error, one after the other."""
    says = randomised(rng.random(len(errors)) < errors, epsilon, rng)
    return says & ~(rng.random(len(errors)) < liars)


# Rules


def looks(
    rule: StoppingRule, devices: Ints, reported_errors: Bools | Ints, evaluated: int = 1
) -> Iterator[tuple[int, Evidence]]:
    """Return the evidence at each look, computed by the program itself."""
    evidence = Evidence(rule)
    for i, (device, wrong) in enumerate(
        zip(devices.tolist(), reported_errors.tolist(), strict=True)
    ):
        evidence = evidence.with_report(device, int(wrong), evaluated)
        if rule.is_due(i + 1):
            yield i + 1, evidence


def stop_of(rule: StoppingRule, says: Bools) -> int | None:
    """Return after how many reports the rule stops a task in which each person reports once.

    The sums of the windows are computed at once, and the rule decides as it does in the program.
    """
    share, noise, sampling = rule.expected(1)
    no, yes = round(-share * ONE), round((1 - share) * ONE)
    wrong = np.concatenate([[0], np.cumsum(says)])
    for end in filter(rule.is_due, range(1, len(says) + 1)):
        for length in rule.windows:
            n = min(end, length)
            k = int(wrong[end] - wrong[end - n])
            surplus, squares = k * yes + (n - k) * no, k * yes**2 + (n - k) * no**2
            if rule.is_met(WindowSums(n, n, surplus, squares, n * (noise + sampling))):
                return end
    return None


# Figures


def false_stops(epsilon: float, error: float, kind: str, in_a_row: bool, runs: int) -> Floats:
    """Return the shares of tasks that stop although the error is ρ.

    The columns are confidence 0.999 and 0.9. One person in twenty lies, as the rule allows.
    """
    rng, reports = np.random.default_rng(0), PEOPLE * EACH
    rules = [rule_of(epsilon, error, reports, confidence) for confidence in (0.999, 0.9)]
    stops = np.zeros((runs, 2), dtype=bool)
    for run in range(runs):
        devices, says = bursts(kind, error, epsilon, in_a_row, LIARS_TOLERATED, rng)
        for _, evidence in looks(rules[0], devices, says):
            sums = [window.sums for window in evidence.windows]
            stops[run] |= [any(map(rule.is_met, sums)) for rule in rules]
    shares: Floats = stops.mean(axis=0)
    return shares


def noisy_false_stops(mechanism: str, epsilon: float, error: float, kind: str, runs: int) -> Floats:
    """Return the same with noise, five reports in a row.

    The columns are confidence 0.999 from 20 devices on, and from 100 on.
    """
    rng, reports = np.random.default_rng(0), PEOPLE * EACH
    rules = [
        noisy_rule_of(mechanism, epsilon, error, reports, 0.999, devices) for devices in (20, 100)
    ]
    scale = math.sqrt(rules[0].mechanism.error_variance)
    stops = np.zeros((runs, 2), dtype=bool)
    for run in range(runs):
        own = errors_of_people(kind, error, PEOPLE, rng)
        devices = np.repeat(np.arange(PEOPLE), EACH)
        size = len(devices)
        noise = rng.laplace(0, scale / math.sqrt(2), size)
        if mechanism == "gaussian":
            noise = rng.normal(0, scale, size)
        reported_errors = np.clip(rng.binomial(BATCH, own[devices]) + np.rint(noise), 0, BATCH)
        lying = rng.choice(PEOPLE, round(LIARS_TOLERATED * PEOPLE), replace=False)
        reported_errors = np.where(np.isin(devices, lying), 0, reported_errors).astype(np.int64)
        for _, evidence in looks(rules[0], devices, reported_errors, BATCH):
            sums = [window.sums for window in evidence.windows]
            stops[run] |= [any(map(rule.is_met, sums)) for rule in rules]
    shares: Floats = stops.mean(axis=0)
    return shares


def balance(rule: StoppingRule, liars: float) -> float:
    """Return the error over ρ that looks like ρ to the rule, if this share always says "right"."""
    at = [rule.mechanism.error_count_law(error, 1).mean for error in (0.0, 1.0)]
    honest = rule.expected(1).share / (1 - liars)
    return (honest - at[0]) / (at[1] - at[0]) / rule.error


def highest_stop(
    rule: StoppingRule, epsilon: float, liars: float, reports: int, runs: int
) -> float:
    """Return the highest error over ρ, in steps of 0.05, at which 5 % of the tasks stop."""
    for percent in range(200, 0, -5):
        rng, error = np.random.default_rng(percent), rule.error * percent / 100
        if error < 1 and math.ceil(0.05 * runs) <= sum(
            stop_of(rule, single_reports(np.full(reports, error), epsilon, liars, rng)) is not None
            for _ in range(runs)
        ):
            return percent / 100
    return 0.0


def falling(start: float, end: float, reports: int, pace: float = 500.0) -> Floats:
    """Return the error of a model that learns."""
    return end + (start - end) * np.exp(-np.arange(reports) / pace)


def median_stop(stops: list[int | None]) -> float:
    return float(np.median([math.inf if stop is None else stop for stop in stops]))


def honest_stops(epsilon: float, error: float, end: float, reports: int, runs: int) -> list[float]:
    """Return when half of the tasks have stopped, and when if the rule knew that nobody lies."""
    rng, errors = np.random.default_rng(0), falling(0.6, end, reports)
    rule = rule_of(epsilon, error, reports)
    trusting = replace(rule)
    share = rule.expected(1).share
    trusting._at_target[1] = rule.expected(1)._replace(share=share / (1 - LIARS_TOLERATED))
    crowds = [single_reports(errors, epsilon, 0.0, rng) for _ in range(runs)]
    return [
        median_stop([stop_of(rule, says) for says in crowds]),
        median_stop([stop_of(trusting, says) for says in crowds]),
    ]


def reports_per_checkin(
    roles: Roles, checkins: int, before: float, devices: int = 4000
) -> tuple[float, float]:
    """Return the reports for each check-in, and of each device, if devices prefer to evaluate.

    The devices send all their numbers that evaluate, and before each of them at least this share of
    the numbers.
    """
    reports = sent_in_total = 0
    for device in range(devices):
        sent = 0
        for number in range(1, checkins + 1):
            if roles.role_of(CheckinKey("terms", f"device-{device}", number)) is Role.EVALUATE:
                sent = max(sent, math.ceil(before * (number - 1))) + 1
                reports += 1
        sent_in_total += sent
    return reports / sent_in_total, reports / devices


def share_of_window(liars: float, pace: float, honest: float) -> float:
    """Return the share of the reports that come from this share of the devices."""
    return liars * pace / (liars * pace + (1 - liars) * honest)


# Tables


def row(*cells: object) -> None:
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def head(*cells: str) -> None:
    row(*cells)
    print("|" + "---|" * len(cells), flush=True)


def print_false(runs: int) -> None:
    head("ε", "ρ", "people", "confidence 0.999", "confidence 0.9")
    for epsilon in (1.0, 4.0):
        for error in (0.1, 0.2):
            for kind in ("alike", "differ", "a fifth"):
                found = false_stops(epsilon, error, kind, True, runs)
                row(f"{epsilon:g}", error, kind, *(f"{each:.0%}" for each in found))


def print_noise(runs: int) -> None:
    head("mechanism", "ε", "people", "`devices = 20`", "`devices = 100`")
    for mechanism, epsilon in (("laplace", 10.0), ("gaussian", 4.0)):
        for kind in ("differ", "a fifth", "a tenth"):
            found = noisy_false_stops(mechanism, epsilon, 0.1, kind, runs)
            row(mechanism, f"{epsilon:g}", kind, *(f"{each:.1%}" for each in found))


def print_liars(runs: int) -> None:
    head(
        "ε",
        "ρ",
        "10 % lie: balance",
        "stops up to",
        "5 % lie: stops up to",
        "none lie: stops up to",
    )
    reports = 6000
    for epsilon in (1.0, 2.0, 4.0):
        for error in (0.05, 0.1, 0.2):
            few, many = (rule_of(epsilon, error, reports, classes=c) for c in (3, 10))
            assert few.expected(1) == many.expected(1), "one bit, whatever C is"
            stops = (highest_stop(few, epsilon, liars, reports, runs) for liars in (0.1, 0.05, 0.0))
            said = (f"{each:.2f} ρ" if each else "never" for each in stops)
            row(f"{epsilon:g}", error, f"{balance(few, 0.1):.2f} ρ", *said)


def print_honest(runs: int) -> None:
    head(
        "ε",
        "ρ",
        "error falls to",
        "below ρ after",
        "stops after",
        "if nobody could lie",
        "later",
    )
    reports = 30_000
    for epsilon in (1.0, 2.0, 4.0, 10.0):
        for error, part in ((0.1, 4), (0.1, 2), (0.2, 4), (0.2, 2), (0.3, 2)):
            end = error / part
            below = int(np.argmax(falling(0.6, end, reports) <= error))
            stops = honest_stops(epsilon, error, end, reports, runs)
            said = [f"{each:,.0f}" if math.isfinite(each) else "never" for each in stops]
            later = f"{stops[0] / stops[1] - 1:.0%}" if math.isfinite(stops[0]) else ""
            row(f"{epsilon:g}", error, f"{end:g}", f"{below:,}", *said, later)


def print_devices(_: int) -> None:
    targets = (0.05, 0.1, 0.2, 0.3)
    head("ε", "updates", "reports of a device", *(f"ρ = {error:g}" for error in targets))
    for epsilon in (1.0, 4.0):
        for updates in (6000, 40_000, 1_000_000):
            rules = [rule_of(epsilon, rho, round(updates * 0.15)) for rho in targets]
            for reports, said in ((1, "1"), (10**6, "as many as fit")):
                cells = (rule.least_devices(reports) for rule in rules)
                least = ("none" if each is None else f"{each:,}" for each in cells)
                row(f"{epsilon:g}", f"{updates:,}", said, *least)


def print_roles(_: int) -> None:
    head(
        "K",
        "numbers of a liar",
        "reports per check-in",
        "per device",
        "2.2 % of devices: at their pace",
    )
    roles = Roles(0.15, 0.05)
    for checkins in (1, 5, 10):
        total = checkins * roles.evaluators
        paces = {
            "all K, as an honest device": (roles.evaluators, total),
            "those that evaluate": reports_per_checkin(roles, checkins, 0.0),
            "and half of those before them (allowed)": reports_per_checkin(roles, checkins, 0.5),
            "and all before them": reports_per_checkin(roles, checkins, 1.0),
            "the first, of a new name that suits": (1.0, 1.0),
        }
        for numbers, (pace, each) in paces.items():
            # With one number, a device whose check-in trains can only stay silent.
            silent = checkins == 1 and "new name" not in numbers
            share = share_of_window(0.022, each if silent else pace, roles.evaluators)
            row(checkins, numbers, f"{pace:.2f}", f"{each:.2f}", f"{share:.1%} of the window")


TABLES = {
    "devices": print_devices,
    "false": print_false,
    "noise": print_noise,
    "liars": print_liars,
    "honest": print_honest,
    "roles": print_roles,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--runs", type=int, default=100)
    chosen = parser.parse_args()
    for name in chosen.tables:
        TABLES[name](chosen.runs)
        print()


if __name__ == "__main__":
    main()
