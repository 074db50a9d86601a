"""crowdml simulate."""

import itertools
import math
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import Progress

from crowdml.cli.extras import needs
from crowdml.cli.options import JSON, SEED
from crowdml.cli.output import print_json
from crowdml.cli.simulated import Setting, Simulated
from crowdml.errors import InvalidInput

if TYPE_CHECKING:
    from crowdml.simulation import Curve, Dataset, Plan

__all__ = ["simulate_command"]

LAW = Literal["uniform", "constant", "exponential", "lognormal"]

CHOOSING = ("auto", "paper")
"""Words for --rate that let c be chosen: on samples set aside, or on the test set."""


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
    seed: SEED = 0,
    engine: Annotated[
        str | None, typer.Option(help="ray or dask, with =ADDRESS for an existing cluster.")
    ] = None,
    json: JSON = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves: .png, .svg or .pdf.")] = None,
) -> None:
    """Simulate a crowd before asking one.

    Options with several values, such as --batch 1,10,20, run every combination.
    """
    began = time.perf_counter()
    with needs("sim"):
        from crowdml.simulation import Crowd, Learning, Plan, Presence, load_dataset
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
        "rate": [1.0] if rate in CHOOSING else _numbers("rate", rate),
        "reg": [0.0] if reg is None else _numbers("reg", reg),
    }
    presence = Presence(late, leaving) if late or leaving else None
    data = load_dataset(dataset)
    settings: list[Setting] = [
        dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())
    ]
    plans = []
    for setting in settings:
        setting["devices"] = setting["devices"] or _default_devices(data)
        crowd = Crowd(
            devices=setting["devices"],
            batch=setting["batch"],
            buffer=buffer,
            delay=_delay(delay_law, setting["delay"]),
            passes=setting["passes"],
            presence=presence,
            skew=skew,
            spread=spread,
        )
        learning = Learning(
            epsilon=setting["epsilon"],
            c=setting["rate"],
            rate=schedule,
            optimizer=setting["optimizer"],
            regularization=setting["reg"],
            clip=clip,
            radius=radius,
            averaging=averaging,
            model=model or ("softmax" if data.labels else "huber"),
            intercept=intercept,
            delta=delta,
            tolerance=tolerance,
        )
        plans.append(Plan(crowd, learning, setting["approach"]))
    chosen, curves = _run(
        data,
        plans,
        rate=rate,
        reg=reg,
        trials=trials,
        seed=seed,
        points=points,
        engine=engine,
    )
    found = Simulated(
        dataset=dataset,
        trials=trials,
        seed=seed,
        varied=[name for name, values in axes.items() if len(values) > 1],
        results=list(zip(settings, chosen, curves, strict=True)),
        seconds=time.perf_counter() - began,
    )
    if plot is not None:
        save_curves(plot, found.labelled(), found.title)
    if json:
        print_json(found.document())
    else:
        found.print_table(Console())


def _run(
    data: "Dataset",
    plans: list["Plan"],
    *,
    rate: str,
    reg: str | None,
    trials: int,
    seed: int,
    points: int,
    engine: str | None,
) -> tuple[list["Plan"], list["Curve"]]:
    """All plans, with c and λ as wanted, under a progress bar; what should be known is said."""
    from crowdml.simulation import simulate, tune

    console = Console(stderr=True)
    with (
        _warnings_told(console),
        Progress(console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        chosen = [
            tune(
                data,
                plan,
                rate=rate in CHOOSING,
                # Central batch has no c, and always needs a λ.
                regularization=reg is None
                and (rate in CHOOSING or plan.approach == "central-batch"),
                on_test=rate == "paper",
                seed=seed,
                engine=engine,
            )
            for plan in bar.track(plans, description="choosing")
        ]
        task = bar.add_task("simulating", total=None)
        curves = simulate(
            data,
            chosen,
            trials=trials,
            seed=seed,
            points=points,
            engine=engine,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    return chosen, curves


@contextmanager
def _warnings_told(console: Console) -> Iterator[None]:
    """Warnings as plain sentences, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    for message in dict.fromkeys(str(one.message) for one in caught if one.category is UserWarning):
        console.print(f"note: {message}", highlight=False)


def _default_devices(data: "Dataset") -> int:
    people = len(set(data.person.tolist()))
    return people if people > 1 else min(1000, len(data.y_train))


def _delay(law: str, ticks: float) -> Any:
    from crowdml import simulation

    delay = getattr(simulation, f"{law}_delay")(ticks)
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
