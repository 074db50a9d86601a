"""crowdml simulate."""

import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Column, Table

from crowdml.cli.extras import needs
from crowdml.errors import InvalidInput

if TYPE_CHECKING:
    from crowdml.simulation import Curve, Dataset
    from crowdml.simulation.approaches import Plan, Tuning

__all__ = ["simulate_command"]

LAWS = ("uniform", "constant", "exponential", "lognormal")
LAW = Literal["uniform", "constant", "exponential", "lognormal"]

Setting = dict[str, Any]
Results = list[tuple[Setting, "Plan", "Curve"]]


def simulate_command(
    dataset: Annotated[
        str,
        typer.Option(
            help="mnist, cifar10, digits, activity, extrasensory, air, or a path to .npz or .csv."
        ),
    ],
    approach: Annotated[
        str, typer.Option(help="crowd, central-batch, central-sgd, decentral; several with commas.")
    ] = "crowd",
    devices: Annotated[
        str | None,
        typer.Option(help="M. By default one per person, or 1000 if people are unknown."),
    ] = None,
    batch: Annotated[str, typer.Option(help="b; several: 1,10,20.")] = "1",
    epsilon: Annotated[str, typer.Option(help="ε of a use of a sample; inf for no noise.")] = "inf",
    delay: Annotated[str, typer.Option(help="τ of each message, in samples of the crowd.")] = "0",
    passes: Annotated[str, typer.Option(help="How often samples are used; each costs ε.")] = "1",
    trials: Annotated[int, typer.Option(help="Repetitions, with all chance anew.")] = 1,
    rate: Annotated[
        str,
        typer.Option(
            help="c. auto chooses it on samples set aside for that; paper chooses it on the test "
            "set, as the paper does."
        ),
    ] = "auto",
    reg: Annotated[
        str | None, typer.Option(help="λ. By default chosen together with c, otherwise 0.")
    ] = None,
    optimizer: Annotated[
        str, typer.Option(help="sgd, adagrad, dual-averaging, average-gradient or auto.")
    ] = "sgd",
    schedule: Annotated[
        str, typer.Option(help="η(t): sqrt c/√t, constant c, inverse c/t.")
    ] = "sqrt",
    clip: Annotated[
        float | None, typer.Option(help="S for a sample's gradient; default: the model's bound.")
    ] = None,
    averaging: Annotated[
        float | None, typer.Option(help="Average the iterates with this power; 8 is good.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="softmax, hinge, ridge, huber; default: softmax or huber.")
    ] = None,
    intercept: Annotated[bool, typer.Option("--intercept", help="Scores with intercepts.")] = False,
    delta: Annotated[float, typer.Option(help="Where Huber's loss becomes linear.")] = 1.0,
    tolerance: Annotated[float, typer.Option(help="Larger residuals count as errors.")] = 1.0,
    radius: Annotated[float, typer.Option(help="R, the bound on ‖w‖.")] = 1e6,
    buffer: Annotated[
        int | None, typer.Option(help="B, the most samples a device keeps; default: no limit.")
    ] = None,
    delay_law: Annotated[
        LAW,
        typer.Option(help="Uniform on [0, τ]; always τ; of mean τ; of median τ."),
    ] = "uniform",
    late: Annotated[float, typer.Option(help="Share of devices that join late.")] = 0.0,
    leaving: Annotated[float, typer.Option(help="Share of devices that leave early.")] = 0.0,
    skew: Annotated[
        float | None, typer.Option(help="Labels unequal over devices: Dirichlet concentration.")
    ] = None,
    spread: Annotated[
        float | None, typer.Option(help="Devices of unequal size: σ of a log-normal law.")
    ] = None,
    points: Annotated[int, typer.Option(help="Points of a curve.")] = 30,
    seed: Annotated[int, typer.Option(help="The same seed gives the same curves.")] = 0,
    engine: Annotated[
        str | None, typer.Option(help="ray or dask, with =ADDRESS for an existing cluster.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves: .png, .svg or .pdf.")] = None,
) -> None:
    """Simulate a crowd before asking one.

    Options with several values, such as --batch 1,10,20, run every combination.
    """
    began = time.perf_counter()
    with needs("sim"):
        from crowdml.simulation import Crowd, Learning, Presence, load_dataset
        from crowdml.simulation.approaches import Plan
        from crowdml.simulation.plot import check_format, save_curves
    if plot is not None:
        check_format(plot)
    if points < 1:
        raise InvalidInput(f"points must be at least 1, found {points}.")
    axes: dict[str, list[Any]] = {
        "approach": _texts("approach", approach),
        "devices": [None] if devices is None else _whole("devices", devices),
        "batch": _whole("batch", batch),
        "epsilon": _numbers("epsilon", epsilon),
        "delay": _numbers("delay", delay),
        "passes": _whole("passes", passes),
        "optimizer": _texts("optimizer", optimizer),
        "rate": [1.0] if rate in ("auto", "paper") else _numbers("rate", rate),
        "reg": [0.0] if reg is None else _numbers("reg", reg),
    }
    laws = {ticks: _delay(delay_law, ticks) for ticks in axes["delay"]}
    presence = Presence(late, leaving)
    data = load_dataset(dataset)
    settings = [
        dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())
    ]
    usual = "softmax" if data.labels else "huber"
    plans = []
    for one in settings:
        one["devices"] = one["devices"] or _default_devices(data)
        crowd = Crowd(
            one["devices"], one["batch"], buffer, laws[one["delay"]], one["passes"],
            presence if late or leaving else None, skew, spread,
        )  # fmt: skip
        way = Learning(
            one["epsilon"], one["rate"], schedule, one["optimizer"], one["reg"], clip, radius,
            averaging, model or usual, intercept, delta, tolerance,
        )  # fmt: skip
        plans.append(Plan(one["approach"], crowd, way))
    found = _run(data, plans, _tuning(rate, reg), trials, seed, points, engine)
    results = [(one, plan, curve) for one, (plan, curve) in zip(settings, found, strict=True)]
    varied = [name for name, values in axes.items() if len(values) > 1]
    if plot is not None:
        curves = [(_label(one, varied), curve) for one, _, curve in results]
        save_curves(plot, curves, _title(dataset, results[0][0], varied, trials))
    seconds = time.perf_counter() - began
    if json:
        print(msgspec.json.encode(_document(results, dataset, trials, seed, seconds)).decode())
    else:
        _print_table(results, varied, dataset, trials, seconds)


def _run(
    data: "Dataset",
    plans: list["Plan"],
    tuning: Callable[["Plan"], "Tuning"],
    trials: int,
    seed: int,
    points: int,
    engine: str | None,
) -> list[tuple["Plan", "Curve"]]:
    """All plans under a progress bar; what should be known is said beside it."""
    from crowdml.simulation.approaches import run_plans

    console = Console(stderr=True)
    with (
        _warnings_told(console),
        Progress(console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task("simulating", total=None)
        return run_plans(
            data, plans, tuning, trials, seed, points, engine,
            lambda what, done, total: bar.update(
                task, description=what, completed=done, total=total
            ),
        )  # fmt: skip


@contextmanager
def _warnings_told(console: Console) -> Iterator[None]:
    """Warnings as plain sentences, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    for message in dict.fromkeys(str(one.message) for one in caught if one.category is UserWarning):
        console.print(f"note: {message}", highlight=False)


def _tuning(rate: str, reg: str | None) -> Callable[["Plan"], "Tuning"]:
    """Central batch has no c, and always needs a λ."""
    from crowdml.simulation.approaches import Tuning

    chosen = rate in ("auto", "paper")

    def tuning(plan: "Plan") -> Tuning:
        wanted = reg is None and (chosen or plan.approach == "central-batch")
        return Tuning(chosen, wanted, on_test=rate == "paper")

    return tuning


def _default_devices(data: "Dataset") -> int:
    people = len(set(data.person.tolist()))
    return people if people > 1 else min(1000, len(data.y_train))


def _delay(law: str, ticks: float) -> Any:
    from crowdml.simulation import (
        constant_delay,
        exponential_delay,
        lognormal_delay,
        uniform_delay,
    )

    makers: tuple[Callable[[float], Any], ...] = (
        uniform_delay,
        constant_delay,
        exponential_delay,
        lognormal_delay,
    )
    delay = dict(zip(LAWS, makers, strict=True))[law](ticks)
    return delay if ticks else None


def _texts(name: str, text: str) -> list[str]:
    values = list(dict.fromkeys(part.strip() for part in text.split(",")))
    if "" in values:
        raise InvalidInput(f"--{name} must be values with commas between them, found {text!r}.")
    return values


def _numbers(name: str, text: str) -> list[float]:
    try:
        values = [float(part) for part in _texts(name, text)]
    except ValueError:
        values = [math.nan]
    if any(math.isnan(value) for value in values):
        other = ", or auto or paper" if name == "rate" else ""
        raise InvalidInput(
            f"--{name} must be numbers with commas between them{other}, found {text!r}."
        )
    return values


def _whole(name: str, text: str) -> list[int]:
    values = _numbers(name, text)
    if any(value < 1 or value % 1 for value in values):
        raise InvalidInput(f"--{name} must be whole numbers of at least 1, found {text!r}.")
    return [int(value) for value in values]


def _document(
    results: Results, dataset: str, trials: int, seed: int, seconds: float
) -> dict[str, Any]:
    """One setting as it is, several as a list of runs."""
    common = {"dataset": dataset, "trials": trials, "seed": seed}
    if len(results) == 1:
        one, plan, curve = results[0]
        return {
            **_figures(plan, curve),
            "seconds": round(seconds, 3),
            "setting": common | _finite(one),
        }
    runs = [{**_figures(plan, curve), "setting": _finite(one)} for one, plan, curve in results]
    return {"runs": runs, "seconds": round(seconds, 3), "setting": common}


def _figures(plan: "Plan", curve: "Curve") -> dict[str, Any]:
    uses_rate = plan.approach != "central-batch" and plan.way.optimizer != "auto"
    return {
        "error": curve.final,
        "std": float(curve.std[-1]),
        "errors": [
            [int(samples), float(mean), float(std)]
            for samples, mean, std in zip(curve.samples, curve.mean, curve.std, strict=True)
        ],
        "epsilon": _finite(
            {"per_sample": curve.epsilon_per_sample, "per_device": curve.epsilon_per_device}
        ),
        "checkins": curve.checkins,
        "seconds": round(curve.seconds, 3),
        "rate": plan.way.c if uses_rate else None,
        "reg": plan.way.regularization,
    }


def _finite(fields: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: it is written "inf"; c and λ stand beside, as chosen."""
    return {
        name: "inf" if value == math.inf else value
        for name, value in fields.items()
        if name not in ("rate", "reg")
    }


def _print_table(
    results: Results, varied: list[str], dataset: str, trials: int, seconds: float
) -> None:
    console = Console()
    names = [name for name in varied if name not in ("rate", "reg")]
    columns = [*names, "rate", "reg", "test error", "check-ins", "ε/sample", "seconds"]
    table = Table(
        *[Column(name, no_wrap=True) for name in columns],
        title=_title(dataset, results[0][0], varied, trials),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for one, plan, curve in results:
        figures = _figures(plan, curve)
        table.add_row(
            *[_text(one[name]) for name in names],
            "–" if figures["rate"] is None else f"{figures['rate']:.4g}",
            f"{figures['reg']:g}",
            f"{curve.final:.3f} ± {curve.std[-1]:.3f}",
            f"{curve.checkins:,.0f}",
            _text(curve.epsilon_per_sample),
            f"{curve.seconds:.2f}",
        )
    console.print(table)
    if any(one["passes"] > 1 and plan.approach == "crowd" for one, plan, _ in results):
        console.print("A sample that is used in P passes costs P·ε: ε/sample counts them all.")
    console.print(f"{seconds:.1f} s in all")


def _label(one: Setting, varied: list[str]) -> str:
    return ", ".join(
        one[name] if name in ("approach", "optimizer") else f"{name} {_text(one[name])}"
        for name in varied
    )


def _title(dataset: str, one: Setting, varied: list[str], trials: int) -> str:
    fixed = [name for name in ("devices", "batch", "epsilon", "delay") if name not in varied]
    parts = [f"{name} {_text(one[name])}" for name in fixed if one[name]]
    times = "1 trial" if trials == 1 else f"{trials} trials"
    return ", ".join([Path(dataset).name, *parts, times])


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
