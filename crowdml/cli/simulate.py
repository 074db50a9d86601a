"""crowdml simulate."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.progress import Progress

from crowdml.cli.extras import needs
from crowdml.cli.options import JSON, SEED
from crowdml.cli.output import Console, print_json, say
from crowdml.cli.simulated import Simulated
from crowdml.cli.sweep import (
    CHOOSING,
    chooses,
    default_devices,
    numbers,
    settings,
    texts,
    whole,
)
from crowdml.errors import InvalidInput

if TYPE_CHECKING:
    from crowdml.simulation import Dataset, Plan, Results

__all__ = ["simulate_command"]

LAW = Literal["uniform", "constant", "exponential", "lognormal"]


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
    mechanism: Annotated[
        str, typer.Option(help="direction, gaussian, laplace; several with commas.")
    ] = "direction",
    devices: Annotated[
        str | None,
        typer.Option(
            help="M. By default as many as have samples for one check-in each; for gaussian and "
            "laplace one per person, or 1000 if people are unknown."
        ),
    ] = None,
    batch: Annotated[str, typer.Option(help="b; several: 1,10,20.")] = "1",
    epsilon: Annotated[
        str,
        typer.Option(
            help="ε: of a person in all for direction, of a sample in each use for gaussian (with "
            "δ = 1e-6) and laplace; inf for no noise."
        ),
    ] = "inf",
    checkins: Annotated[
        int | None,
        typer.Option(
            help="K, the most of a device. By default as many as its samples give; for direction "
            "each costs ε/K."
        ),
    ] = None,
    evaluators: Annotated[
        float, typer.Option(help="Share of check-ins that send right or wrong, not a direction.")
    ] = 0.0,
    counters: Annotated[
        float, typer.Option(help="Share of check-ins that send an answer, not a direction.")
    ] = 0.0,
    delay: Annotated[str, typer.Option(help="τ of each message, in samples of the crowd.")] = "0",
    passes: Annotated[str, typer.Option(help="How often samples are used.")] = "1",
    trials: Annotated[int, typer.Option(help="Repetitions, with all chance anew.")] = 1,
    rate: Annotated[
        str,
        typer.Option(
            help="planned: constant, from what is known before the start. Or c. Or auto, which "
            "chooses c on samples set aside for that, or paper, which chooses it on the test set."
        ),
    ] = "planned",
    reg: Annotated[
        str | None, typer.Option(help="λ. By default chosen together with c, otherwise 0.")
    ] = None,
    optimizer: Annotated[
        str, typer.Option(help="sgd, adagrad, dual-averaging or average-gradient.")
    ] = "sgd",
    schedule: Annotated[
        str | None,
        typer.Option(help="η(t) for a given or chosen c: sqrt c/√t (default), constant, inverse."),
    ] = None,
    clip: Annotated[
        str | None,
        typer.Option(
            help="S for a sample's gradient. By default what suits the planned rate, or the "
            "model's bound with another; direction needs none."
        ),
    ] = None,
    reach: Annotated[
        float | None,
        typer.Option(help="D, how far w is expected to go, for the planned rate."),
    ] = None,
    averaging: Annotated[
        str | None,
        typer.Option(
            help="Average the iterates with this power. By default 3 with the planned rate, none "
            "with another."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="softmax, hinge, ridge, huber; default: softmax or huber.")
    ] = None,
    intercept: Annotated[bool, typer.Option("--intercept", help="Scores with intercepts.")] = False,
    scale: Annotated[
        float | None,
        typer.Option(help="The typical size of numbers to predict; default: that in the data."),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Where Huber's loss becomes linear; default: the scale.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Larger residuals count as errors; default: the scale.")
    ] = None,
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
    points: Annotated[int, typer.Option(min=1, max=1_000_000, help="Points of a curve.")] = 30,
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
    if rate == "planned" and schedule is not None:
        raise InvalidInput(
            f"the planned rate is constant, found --schedule {schedule}. Give a --rate, or auto."
        )
    by_name = rate == "planned" or rate in CHOOSING
    axes: dict[str, list[Any]] = {
        "approach": texts("approach", approach),
        "mechanism": texts("mechanism", mechanism),
        "devices": whole("devices", devices),
        "batch": whole("batch", batch),
        "epsilon": numbers("epsilon", epsilon),
        "delay": numbers("delay", delay),
        "passes": whole("passes", passes),
        "optimizer": texts("optimizer", optimizer),
        "rate": [rate] if by_name else numbers("rate", rate),
        "reg": [0.0] if reg is None else numbers("reg", reg),
        "clip": numbers("clip", clip),
        "averaging": numbers("averaging", averaging),
    }
    presence = Presence(late, leaving) if late or leaving else None
    data = load_dataset(dataset)
    found: list[tuple[dict[str, Any], Plan]] = []
    for setting in settings(axes):
        chosen = chooses(setting["rate"], setting["optimizer"])
        learning = Learning(
            mechanism=setting["mechanism"],
            epsilon=setting["epsilon"],
            c=1.0 if chosen else None if by_name else setting["rate"],
            rate="planned" if by_name and not chosen else schedule or "sqrt",
            optimizer=setting["optimizer"],
            regularization=setting["reg"],
            clip=setting["clip"],
            reach=reach,
            radius=radius,
            averaging=setting["averaging"],
            model=model or ("softmax" if data.labels else "huber"),
            intercept=intercept,
            scale=scale,
            delta=delta,
            tolerance=tolerance,
        )
        usual = default_devices(data, setting["mechanism"], setting["batch"], checkins)
        setting["devices"] = setting["devices"] or usual
        crowd = Crowd(
            devices=setting["devices"],
            batch=setting["batch"],
            buffer=buffer,
            delay=_delay(delay_law, setting["delay"]),
            passes=setting["passes"],
            presence=presence,
            skew=skew,
            spread=spread,
            checkins=checkins,
            evaluators=evaluators,
            counters=counters,
        )
        found.append((setting, Plan(crowd, learning, setting["approach"])))
    results = _run(
        data, found, reg=reg, on_test=rate == "paper", trials=trials, seed=seed, points=points,
        engine=engine,
    )  # fmt: skip
    simulated = Simulated(
        dataset=dataset,
        data=data,
        trials=trials,
        seed=seed,
        varied=[name for name, values in axes.items() if len(values) > 1],
        settings=[setting for setting, _ in found],
        results=results,
        seconds=time.perf_counter() - began,
    )
    if plot is not None:
        save_curves(plot, simulated.labelled(), simulated.title)
    if json:
        print_json(simulated.document())
    else:
        say(*simulated.table().splitlines())


def _run(
    data: "Dataset",
    wanted: list[tuple[dict[str, Any], "Plan"]],
    *,
    reg: str | None,
    on_test: bool,
    trials: int,
    seed: int,
    points: int,
    engine: str | None,
) -> "Results":
    """All plans, with c and λ as wanted, under a progress bar; what should be known is said."""
    from crowdml.simulation import simulate, tune

    console = Console(stderr=True)
    with (
        _warnings_told(console),
        Progress(console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        plans = []
        for setting, plan in bar.track(wanted, description="choosing"):
            chosen = chooses(setting["rate"], setting["optimizer"])
            # Central batch has no c, and always needs a λ.
            open_reg = reg is None and (chosen or plan.approach == "central-batch")
            plans.append(
                tune(
                    data,
                    plan,
                    rate=chosen,
                    regularization=open_reg,
                    on_test=on_test,
                    seed=seed,
                    engine=engine,
                )
            )
        task = bar.add_task("simulating", total=None)
        return simulate(
            data,
            plans,
            trials=trials,
            seed=seed,
            points=points,
            engine=engine,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )


@contextmanager
def _warnings_told(console: Console) -> Iterator[None]:
    """Warnings as plain sentences, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    for message in dict.fromkeys(str(one.message) for one in caught if one.category is UserWarning):
        console.print(f"note: {message}")


def _delay(law: str, ticks: float) -> Any:
    from crowdml import simulation

    delay = getattr(simulation, f"{law}_delay")(ticks)
    return delay if ticks else None
