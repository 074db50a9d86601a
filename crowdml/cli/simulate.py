"""Define `crowdml simulate`."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from crowdml.cli.console import Console
from crowdml.cli.extras import require_extras
from crowdml.cli.options import JSON, read_text
from crowdml.cli.output import print_json, print_lines
from crowdml.cli.ranges import in_range
from crowdml.cli.simulate_options import parse_values
from crowdml.cli.simulate_results import SimulationResults

if TYPE_CHECKING:
    from crowdml.simulation import Dataset, PlanFile, Results


def simulate_command(
    plan: Annotated[
        Path | None, typer.Argument(help="A plan file in TOML; options override its settings.")
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="mnist, cifar10, digits, activity, extrasensory or air, or a .npz or .csv file."
        ),
    ] = None,
    approach: Annotated[
        str | None, typer.Option(help="crowd (default), central-batch, central-sgd, decentral.")
    ] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="direction (default), gaussian, laplace.")
    ] = None,
    devices: Annotated[
        str | None,
        typer.Option(
            help="M, the number of devices. By default as many as have samples for one check-in; "
            "for gaussian and laplace one per person, or 1000 if people are unknown."
        ),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(help="b, the samples in a check-in; by default 1. Several: 1,10,20."),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="ε of a person in total for direction, of a sample in each use for gaussian "
            "(with δ = 1e-6) and laplace. By default inf: no noise."
        ),
    ] = None,
    checkins: Annotated[
        str | None,
        typer.Option(
            help="K, the most check-ins of a device. By default as many as its samples give; for "
            "direction each costs ε/K."
        ),
    ] = None,
    delay: Annotated[
        str | None, typer.Option(help="τ, the delay of each message, in samples of the crowd.")
    ] = None,
    passes: Annotated[
        str | None, typer.Option(help="The number of times that each sample is used.")
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            help="planned (default): a constant rate from what is known before the start. Or a "
            "number, c. Or auto, which chooses c on samples set aside, or paper, which chooses c "
            "on the test set."
        ),
    ] = None,
    reg: Annotated[
        str | None, typer.Option(help="λ. By default chosen together with c, or 0.")
    ] = None,
    optimizer: Annotated[
        str | None, typer.Option(help="sgd (default), adagrad, dual-averaging, average-gradient.")
    ] = None,
    clip: Annotated[
        str | None,
        typer.Option(
            help="S, the bound on a sample's gradient. By default what suits the planned rate, or "
            "the model's own bound with another rate; direction needs none."
        ),
    ] = None,
    skew: Annotated[
        str | None,
        typer.Option(
            help="How labels differ between devices: a Dirichlet concentration, 0.3 for one to "
            "three labels each. By default all devices are alike."
        ),
    ] = None,
    pilot: Annotated[
        str | None,
        typer.Option(
            help="The number of samples in a pilot, from which the model starts; --devices counts "
            "the other people's devices."
        ),
    ] = None,
    pilot_people: Annotated[
        str | None,
        typer.Option(
            help="The number of people in the pilot, whose other samples are left out. By default "
            "2 if people are known."
        ),
    ] = None,
    trials: Annotated[
        int | None, in_range("trials", "Repetitions, each with new randomness. By default 1.")
    ] = None,
    seed: Annotated[
        int | None, in_range("seed", "The same seed gives the same curves. By default 0.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="ray or dask, with =ADDRESS for an existing cluster.")
    ] = None,
    json: JSON = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the curves into this .png, .svg or .pdf file.")
    ] = None,
) -> None:
    """Simulate a crowd before you ask a real one.

    Options with several values, such as --batch 1,10,20, run every combination. A plan file may
    have further settings: see docs/simulate.md.
    """
    began = time.perf_counter()
    with require_extras("sim"):
        from crowdml.simulation import (
            PlanFile,
            check_format,
            draw_curves,
            load_dataset,
            read_plan,
            read_settings,
            save,
        )
    if plan is None and dataset is None:
        raise typer.BadParameter("a plan file or --dataset must be given, found neither.")
    if plot is not None:
        check_format(plot)
    swept = {
        "approach": approach, "mechanism": mechanism, "devices": devices, "batch": batch,
        "epsilon": epsilon, "delay": delay, "passes": passes, "optimizer": optimizer,
        "rate": rate, "reg": reg, "clip": clip, "checkins": checkins,
        "skew": skew, "pilot": pilot, "pilot_people": pilot_people,
    }  # fmt: skip
    single = {"dataset": dataset, "trials": trials, "seed": seed, "engine": engine}
    document = (
        (read_plan(read_text(plan, "plan")) if plan else {})
        | {name: parse_values(text) for name, text in swept.items() if text is not None}
        | {name: value for name, value in single.items() if value is not None}
    )
    settings = read_settings(document, PlanFile)
    data = load_dataset(settings[0].dataset)
    results = _run(data, settings)
    simulated = SimulationResults(data, settings, results, seconds=time.perf_counter() - began)
    if plot is not None:
        save(draw_curves(simulated.labelled(), simulated.title), plot)
    if json:
        print_json(simulated.document())
    else:
        print_lines(*simulated.table().splitlines())


def _run(data: "Dataset", settings: "list[PlanFile]") -> "Results":
    """Run all plans, with c and λ as chosen, and print notes about the data."""
    from crowdml.simulation import row_notes, simulate, tune

    first, console = settings[0], Console(stderr=True)
    with (
        _printed_warnings(console),
        Progress(console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        plans = []
        for setting in bar.track(settings, description="choosing"):
            plan, chosen = setting.plan(data), setting.chooses_rate
            # Central batch has no rate c, and always needs a λ.
            open_reg = setting.reg is None and (chosen or plan.approach == "central-batch")
            plans.append(
                tune(
                    data,
                    plan,
                    rate=chosen,
                    regularization=open_reg,
                    on_test=setting.rate == "paper",
                    seed=first.seed,
                    engine=first.engine,
                )
            )
        if Path(first.dataset).suffix:  # the user's own file, not a data set by name
            for norm in {plan.norm for plan in plans}:
                for note in row_notes(data.x_train, norm):
                    warnings.warn(note, stacklevel=1)
        task = bar.add_task("simulating", total=None)
        return simulate(
            data,
            plans,
            trials=first.trials,
            seed=first.seed,
            points=first.points,
            engine=first.engine,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )


@contextmanager
def _printed_warnings(console: Console) -> Iterator[None]:
    """Print warnings as plain sentences, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    for message in dict.fromkeys(str(one.message) for one in caught if one.category is UserWarning):
        console.print(f"note: {message}")
