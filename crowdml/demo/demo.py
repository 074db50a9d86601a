"""The demo: a server process, a crowd of real devices, and how well they learn."""

import math
import multiprocessing
import queue
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from crowdml.demo.crowd import Member, Report, recruit, run_crowd
from crowdml.demo.observer import Observer
from crowdml.demo.tasks import demo_task
from crowdml.demo.view import Progress, line, show_live
from crowdml.errors import CrowdmlError, InvalidInput
from crowdml.learnt import FORMATS, read_model
from crowdml.privacy import bound_features
from crowdml.protocol import MECHANISMS, Task, listed
from crowdml.server import ServerProcess, Store
from crowdml.simulation import (
    Dataset,
    central_batch,
    error_rate,
    load_activity,
    load_dataset,
)
from crowdml.types import Flags

__all__ = ["Demo", "Result", "run_demo"]

PROCESSES = 2
MARK = ".crowdml-demo"
"""In a folder that a demo has made, and only there: such a folder may be erased."""

CENTRAL_REGULARIZATION = 1e-6


@dataclass(frozen=True)
class Demo:
    """What to show.

    Args:
        task: activity or digits.
        mechanism: direction, gaussian or laplace.
        epsilon: What a person loses in all for direction, what a sample loses for the others; inf
            for no privacy.
        devices: How many devices take part.
        seconds: How long the crowd collects.
        folder: Where the server's database, the devices' files and the model go.
        seed: For dealing samples and joining times; noise is never seeded.
    """

    task: str = "activity"
    mechanism: str = "direction"
    epsilon: float = 4.0
    devices: int = 108
    seconds: float = 25.0
    folder: Path = Path("crowdml-demo")
    seed: int = 0

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


@dataclass(frozen=True)
class Epsilons:
    """What the ledgers say in the end: the most that any sample and any person has lost."""

    per_sample: float
    per_person: float


@dataclass(frozen=True)
class Result:
    """How well the crowd learnt, and what it cost whom.

    Args:
        error: On people, or samples, that took no part.
        central_error: With all data in one place.
        guess_error: Of always guessing the most frequent label.
        recall: The share of each class that is recognised.
        checkins: How many there were.
        devices: How many joined.
        private_bytes_per_checkin: The most bytes of a check-in that depend on samples.
        mechanism: What hid them.
        epsilon: What they cost.
        promise: What was promised to each participant, in sentences.
        estimated_error: What the server can know of the error, ± estimated_margin.
        seconds: How long it took.
        model: Where the model is.
    """

    error: float
    central_error: float
    guess_error: float
    recall: list[float]
    checkins: int
    devices: int
    private_bytes_per_checkin: int
    mechanism: str
    epsilon: Epsilons
    promise: str
    estimated_error: float
    estimated_margin: float
    seconds: float
    model: str


def run_demo(
    demo: Demo, console: Console, show: Callable[[Result, str], None] = lambda result, portal: None
) -> Result:
    """Run it, showing progress on the console.

    Args:
        demo: What to run.
        console: Where progress is shown.
        show: Called at the end with the result and the address of the portal, which stays open
            until it returns.
    """
    rng = np.random.default_rng(demo.seed)
    data = load_activity(features="demo") if demo.task == "activity" else load_dataset(demo.task)
    hands = data.deal(demo.devices, rng)
    task = demo_task(demo.task, demo.mechanism, demo.epsilon, [len(hand) for hand in hands])
    data = _as_devices_see_them(data, task)
    _introduce(demo, task, data, console)
    members = recruit(hands, data.x_train, data.y_train, demo.seconds, rng)
    _prepare(demo.folder)
    with (
        _serving(demo.folder, task) as process,
        closing(Observer(process.url, task.name, process.fingerprint)) as server,
    ):
        url, fingerprint = process.url, process.fingerprint
        portal = f"{url}/tasks/{task.name}"
        console.print(f"watch it learn: {portal}  (a self-signed certificate: the browser warns)")
        progress = Progress(task, portal, _guess_error(data))
        reports: multiprocessing.Queue[Report] = multiprocessing.get_context("spawn").Queue()
        start = time.time() + 1.0
        arguments = (
            url, task.name, fingerprint, demo.folder / "devices",
            not task.terms.private, start, reports,
        )  # fmt: skip
        shares = [members[i::PROCESSES] for i in range(PROCESSES)]
        with show_live(progress, console), _processes(shares, arguments) as running:
            progress.central_error = _central_error(task, data)
            _watch(progress, running, reports, server, data, console)
        result = _result(demo, data, progress, server)
        show(result, portal)
        return result


def _serving(folder: Path, task: Task) -> ServerProcess:
    """A server with a fresh database that holds this task."""
    server = ServerProcess(folder, tls="self-signed")
    with closing(Store(server.database)) as store:
        store.create_task(task)
    return server


def _as_devices_see_them(data: Dataset, task: Task) -> Dataset:
    """The rows, each rescaled as a device does it."""
    norm = task.terms.mechanism().norm
    x = [
        np.array([bound_features(row, len(row), norm) for row in rows])
        for rows in (data.x_train, data.x_test)
    ]
    return replace(data, x_train=x[0], x_test=x[1])


def _introduce(demo: Demo, task: Task, data: Dataset, console: Console) -> None:
    people = len(set(data.person.tolist()))
    once = task.terms.collection.checkins == 1
    console.print(
        f"{demo.devices} devices hold {len(data.y_train):,} samples"
        + (f" of {people} people" if people > 1 else "")
        + f"; each checks in {'once, with' if once else 'every'} "
        + f"{task.terms.collection.batch} samples{'' if once else ', and uses each once'}."
    )
    if not task.terms.private:
        console.print(
            "[bold red]THIS TASK IS NOT PRIVATE. "
            f"{task.terms.promise.sentences['not_private']}[/bold red]"
        )


@contextmanager
def _processes(
    shares: list[list[Member]], arguments: tuple[object, ...]
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
    reports: "multiprocessing.Queue[Report]",
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
            progress.errors.append(float(_mistakes(data, model).mean()))
        _collect(progress, reports)
        if not console.is_terminal and time.monotonic() - said > 5:
            console.print(line(progress))
            said = time.monotonic()
        if progress.statistics.state.final or not alive:
            break
        time.sleep(0.25)
    for process in running:
        process.join(20)
    _collect(progress, reports)
    failed = [process for process in running if process.exitcode]
    if failed:
        raise CrowdmlError(f"{len(failed)} of {len(running)} crowd processes failed; see above.")


def _collect(progress: Progress, reports: "multiprocessing.Queue[Report]") -> None:
    while True:
        try:
            report = reports.get(timeout=0.01)
        except queue.Empty:
            return
        progress.per_sample = max(progress.per_sample, report.per_sample)
        progress.per_person = max(progress.per_person, report.per_person)


def _result(demo: Demo, data: Dataset, progress: Progress, server: Observer) -> Result:
    statistics, file = server.statistics(), demo.folder / f"{demo.task}.npz"
    for kind in FORMATS:
        model = server.model(kind)
        if model is None:
            raise CrowdmlError("the crowd has learnt nothing. Let more --devices take part.")
        file.with_suffix(f".{kind}").write_bytes(model)
    estimate = statistics.error
    wrong = _mistakes(data, file.read_bytes())
    labels = data.y_test.astype(int)
    return Result(
        error=float(wrong.mean()),
        central_error=progress.central_error or math.nan,
        guess_error=progress.guess_error,
        recall=[float(1 - wrong[labels == k].mean()) for k in range(len(data.labels))],
        checkins=statistics.version,
        devices=statistics.devices,
        private_bytes_per_checkin=progress.task.terms.mechanism().private_bytes,
        mechanism=demo.mechanism,
        epsilon=Epsilons(progress.per_sample, progress.per_person),
        promise=" ".join(map(str, progress.task.terms.promise.what_is_lost)),
        estimated_error=estimate.value if estimate else math.nan,
        estimated_margin=estimate.margin if estimate else math.nan,
        seconds=round(progress.seconds, 1),
        model=str(file),
    )


def _central_error(task: Task, data: Dataset) -> float:
    model = task.terms.make_model()
    w = central_batch(model, data.x_train, data.y_train, CENTRAL_REGULARIZATION)
    return error_rate(model, w, data.x_test, data.y_test)


def _mistakes(data: Dataset, exported: bytes) -> Flags:
    """Of the model as anyone can use it."""
    true = np.array(data.labels)[data.y_test.astype(int)]
    wrong: Flags = read_model(exported, "the server's model").predict(data.x_test) != true
    return wrong


def _guess_error(data: Dataset) -> float:
    """Of the label that is most frequent among those who take part."""
    usual = np.bincount(data.y_train.astype(int)).argmax()
    return float((data.y_test != usual).mean())


def _prepare(folder: Path) -> None:
    """An empty folder that is known as a demo's."""
    try:
        _clean(folder)
        folder.mkdir(parents=True)
        (folder / MARK).touch()
    except OSError as error:
        raise InvalidInput(
            f"cannot use the folder {folder}: {error.strerror}. Choose another with --folder."
        ) from error


def _clean(folder: Path) -> None:
    """Start afresh, but only where an earlier demo was."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is a file. Choose a folder with --folder.")
    if not (folder / MARK).exists() and any(folder.iterdir()):
        raise InvalidInput(
            f"{folder} holds other files than an earlier demo's, which has {MARK}. Choose another "
            "with --folder."
        )
    shutil.rmtree(folder)
