"""Run the demo: a server process, a crowd of real devices, and how well they learn."""

import multiprocessing
import queue
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from crowdml.demo.crowd import EpsilonsSpent, PlannedDevice, plan_devices, run_crowd
from crowdml.demo.folder import prepare_folder
from crowdml.demo.launcher import ServerProcess
from crowdml.demo.observer import Observer
from crowdml.demo.pilot import ROWS_EACH, pilot_error, pilot_start
from crowdml.demo.ports import free_port
from crowdml.demo.result import DemoResult, central_error, mistakes, result_of
from crowdml.demo.tasks import demo_task
from crowdml.demo.view import Progress, line, show_live
from crowdml.errors import CrowdmlError, InvalidInput
from crowdml.learnt import write_start
from crowdml.protocol import MECHANISMS, USUAL_MECHANISM, Task, listed
from crowdml.server import Store
from crowdml.simulation import Dataset, guess_error, load_activity, load_dataset, set_aside

PROCESSES = 2


@dataclass(frozen=True)
class Demo:
    """Hold the settings of a demo.

    Args:
        task: activity or digits.
        mechanism: direction, gaussian or laplace.
        epsilon: For direction what a person loses in total, for the others what a sample loses; inf
            for no privacy.
        devices: How many devices take part.
        seconds: How long the crowd collects.
        folder: The folder for the server's database, the devices' files and the model.
        seed: The seed of the samples' dealing and of joining times; noise is never seeded.
        pilot: How many of the people are a pilot, from whose samples the model starts, and not in
            the crowd; None for a model that starts at zero.
        port: The portal's port; None for a free port.
    """

    task: str = "activity"
    mechanism: str = USUAL_MECHANISM
    epsilon: float = 4.0
    devices: int = 108
    seconds: float = 25.0
    folder: Path = Path("crowdml-demo")
    seed: int = 0
    pilot: int | None = None
    port: int | None = None

    def __post_init__(self) -> None:
        if self.task not in ("activity", "digits"):
            raise InvalidInput(f"task must be activity or digits, found {self.task!r}.")
        if self.mechanism not in MECHANISMS:
            names = listed(MECHANISMS)
            raise InvalidInput(f"mechanism must be {names}, found {self.mechanism!r}.")
        if not self.epsilon > 0:
            raise InvalidInput(f"epsilon must be positive, found {self.epsilon}.")
        if not 0 < self.seconds <= 3600:
            raise InvalidInput(f"seconds must lie in 0 … 3600, found {self.seconds}.")
        if self.port is not None and not 1 <= self.port <= 65535:
            raise InvalidInput(f"port must lie in 1 … 65535, found {self.port}.")
        if self.pilot is not None and self.pilot < 1:
            raise InvalidInput(f"a pilot must be one person or more, found {self.pilot}.")


def run_demo(
    demo: Demo,
    console: Console,
    show: Callable[[DemoResult, str], None] = lambda result, portal: None,
) -> DemoResult:
    """Run the demo and show its progress on the console.

    At the end `show` is called with the result and the address of the portal, which stays open
    until it returns.
    """
    rng = np.random.default_rng(demo.seed)
    data = load_activity(features="demo") if demo.task == "activity" else load_dataset(demo.task)
    start = None
    if demo.pilot is not None:
        pilot, data = set_aside(data, ROWS_EACH * demo.pilot, demo.pilot, rng)
        start = pilot_start(pilot, MECHANISMS[demo.mechanism].terms.norm)
    dealt = data.deal(demo.devices, rng)
    sizes = [len(rows) for rows in dealt]
    task = demo_task(demo.task, demo.mechanism, demo.epsilon, sizes, start)
    data = data.bounded(task.terms.mechanism().norm)
    _introduce(demo, task, data, console)
    members = plan_devices(dealt, data.x_train, data.y_train, demo.seconds, rng)
    prepare_folder(demo.folder)
    if start is not None:
        (demo.folder / f"{demo.task}.start.npz").write_bytes(write_start(start))
    with (
        _serving(demo.folder, task, demo.port) as process,
        closing(Observer(process.url, task.name, process.fingerprint)) as server,
    ):
        url, fingerprint = process.url, process.fingerprint
        portal = f"{url}/tasks/{task.name}"
        console.print(f"watch it learn: {portal}  (a self-signed certificate: the browser warns)")
        progress = Progress(task, portal, guess_error(data, 1.0), pilot_error(task, data))
        context = multiprocessing.get_context("spawn")
        spent_queue: multiprocessing.Queue[EpsilonsSpent] = context.Queue()
        begins = time.time() + 1.0
        arguments = (
            url, task.name, fingerprint, demo.folder / "devices",
            not task.terms.private, begins, spent_queue,
        )  # fmt: skip
        shares = [members[i::PROCESSES] for i in range(PROCESSES)]
        with show_live(progress, console), _processes(shares, arguments) as running:
            progress.central_error = central_error(task, data)
            _watch(progress, running, spent_queue, server, data, console)
        result = result_of(demo.folder / f"{demo.task}.npz", data, progress, server)
        show(result, portal)
        return result


def _serving(folder: Path, task: Task, port: int | None) -> ServerProcess:
    """Run a server with a fresh database that holds this task."""
    server = ServerProcess(folder, tls="self-signed", port=port or free_port())
    with closing(Store(server.database)) as store:
        store.create_task(task)
    return server


def _introduce(demo: Demo, task: Task, data: Dataset, console: Console) -> None:
    people = len(set(data.person.tolist()))
    once = task.terms.collection.checkins == 1
    console.print(
        f"{demo.devices} devices hold {len(data.y_train):,} samples"
        + (f" of {people} people" if people > 1 else "")
        + f"; each checks in {'once, with' if once else 'every'} "
        + f"{task.terms.collection.batch} samples{'' if once else ', and uses each once'}."
    )
    if task.terms.model.start is not None:
        console.print(str(task.terms.model.start.phrase))
    if not task.terms.private:
        console.print(
            "[bold red]THIS TASK IS NOT PRIVATE. "
            f"{task.terms.promise.sentences['not_private']}[/bold red]"
        )


@contextmanager
def _processes(
    shares: list[list[PlannedDevice]], arguments: tuple[object, ...]
) -> Iterator[list[multiprocessing.process.BaseProcess]]:
    context = multiprocessing.get_context("spawn")
    running: list[multiprocessing.process.BaseProcess] = [
        context.Process(target=run_crowd, args=(share, *arguments), daemon=True) for share in shares
    ]
    for process in running:
        process.start()
    try:
        yield running
    finally:
        for process in running:
            process.terminate()
            process.join(10)


def _watch(
    progress: Progress,
    running: list[multiprocessing.process.BaseProcess],
    spent_queue: "multiprocessing.Queue[EpsilonsSpent]",
    server: Observer,
    data: Dataset,
    console: Console,
) -> None:
    """Follow the task until it stops or the crowd has no more samples."""
    said = 0.0
    while True:
        alive = any(process.is_alive() for process in running)
        progress.statistics = server.statistics()
        if model := server.model():
            progress.errors.append(float(mistakes(data, model).mean()))
        _collect(progress, spent_queue)
        if not console.is_terminal and time.monotonic() - said > 5:
            console.print(line(progress))
            said = time.monotonic()
        if progress.statistics.state.final or not alive:
            break
        time.sleep(0.25)
    for process in running:
        process.join(20)
    _collect(progress, spent_queue)
    failed = [process for process in running if process.exitcode]
    if failed:
        raise CrowdmlError(f"{len(failed)} of {len(running)} crowd processes failed; see above.")


def _collect(progress: Progress, spent_queue: "multiprocessing.Queue[EpsilonsSpent]") -> None:
    while True:
        try:
            spent = spent_queue.get(timeout=0.01)
        except queue.Empty:
            return
        progress.per_sample = max(progress.per_sample, spent.per_sample)
        progress.per_person = max(progress.per_person, spent.per_person)
