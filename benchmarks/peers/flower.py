"""Compare the server's CPU for a client's update: Flower's deployment runtime, and crowdml.

Run: python benchmarks/peers/flower.py FOLDER, where FOLDER/bin/flwr is Flower 1.41.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from crowdml.bench.server import LoadSettings, bench_server
from crowdml.demo import free_port

NODES, ROUNDS, IDLE = 4, 8, 10.0
PATIENCE = 240.0
APP = {
    "pyproject.toml": """
        [build-system]
        requires = ["hatchling"]
        build-backend = "hatchling.build"
        [project]
        name = "echo"
        version = "1.0.0"
        description = "Gives the parameters back."
        license = "MIT"
        dependencies = []
        [tool.flwr.app]
        publisher = "crowdml"
        [tool.flwr.app.components]
        serverapp = "echo.server:app"
        clientapp = "echo.client:app"
        [tool.flwr.app.config]
        nodes = {nodes}
        rounds = {rounds}
        marks = "{marks}"
        """,
    "echo/__init__.py": "",
    "echo/client.py": """
        from flwr.app import Message, MetricRecord, RecordDict
        from flwr.clientapp import ClientApp

        app = ClientApp()

        @app.train()
        def train(message, context):
            metrics = MetricRecord({"num-examples": 1})
            told = RecordDict({"arrays": message.content["arrays"], "metrics": metrics})
            return Message(content=told, reply_to=message)
        """,
    "echo/server.py": """
        import numpy as np
        from flwr.app import ArrayRecord
        from flwr.serverapp import ServerApp
        from flwr.serverapp.strategy import FedAvg

        app = ServerApp()

        @app.main()
        def main(grid, context):
            config = context.run_config
            nodes = config["nodes"]

            def mark(round, arrays):
                with open(config["marks"], "a") as file:
                    file.write("x")

            strategy = FedAvg(
                fraction_evaluate=0.0, min_train_nodes=nodes, min_available_nodes=nodes
            )
            start = ArrayRecord([np.zeros(500)])
            strategy.start(grid, start, num_rounds=config["rounds"], evaluate_fn=mark)
        """,
}


def main(flower: Path) -> None:
    """Measure crowdml before and after Flower, so that a change of the machine's speed shows."""
    before = _ours()
    with tempfile.TemporaryDirectory() as folder:
        idle, seconds, cpu = _flower(flower / "bin", Path(folder))
    updates = (ROUNDS - 1) * NODES
    theirs = 1e3 * cpu / updates
    busy = 1e3 * (cpu - idle * seconds) / updates
    after = _ours()
    print(f"crowdml, ms of CPU per check-out and check-in: {before:.2f}, {after:.2f}")
    print(f"Flower, ms of CPU per parameters and update: {theirs:.0f}")
    print(
        f"  without what it needs while nothing happens, {100 * idle:.1f} % of a core: {busy:.0f}"
    )
    print(f"  seconds per round: {seconds / (ROUNDS - 1):.1f}")
    ours = (before + after) / 2
    print(f"ratio: {theirs / ours:.0f}, without waiting {busy / ours:.0f}")


def _ours() -> float:
    results = bench_server(LoadSettings(seconds=3.0, clients=NODES, checkouts=0.5))
    return float(results["laplace"]["cpu_ms_per_checkin"])


def _flower(programs: Path, folder: Path) -> tuple[float, float, float]:
    """Return the idle CPU per second, and the seconds and CPU of all rounds but the first."""
    port, marks = free_port(), folder / "marks"
    _write_app(folder, marks)
    home = {"FLWR_HOME": str(folder), "FLWR_TELEMETRY_ENABLED": "0"}
    environment = os.environ | home | {"PATH": f"{programs}:{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    where = f'[superlink.it]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    (folder / "config.toml").write_text(f'[superlink]\ndefault = "it"\n{where}')
    with ExitStack() as stack:

        def start(name: str, *arguments: str) -> int:
            command = [str(programs / name), "--insecure", *arguments]
            return stack.enter_context(_running(command, environment, folder))

        database = ["--database", str(folder / "state.db")]
        link = start("flower-superlink", "--port", str(port), *database)
        for _ in range(NODES):
            there = ["--superlink", f"127.0.0.1:{port}", "--port", str(free_port())]
            start("flower-supernode", *there)
        _await(lambda: (folder / "log").read_text().count("Activated node_id") == NODES)
        before = _cpu_of_tree(link)
        time.sleep(IDLE)
        idle = (_cpu_of_tree(link) - before) / IDLE
        run = [str(programs / "flwr"), "run", str(folder / "app"), "it"]
        subprocess.run(run, env=environment, check=True, stdout=subprocess.DEVNULL)
        # The strategy also writes a mark before the first round.
        _await(lambda: marks.exists() and marks.stat().st_size >= 2)
        began, before = time.monotonic(), _cpu_of_tree(link)
        _await(lambda: marks.stat().st_size >= ROUNDS + 1)
        return idle, time.monotonic() - began, _cpu_of_tree(link) - before


def _write_app(folder: Path, marks: Path) -> None:
    for name, text in APP.items():
        lines = [line.removeprefix(" " * 8) for line in text.strip("\n").splitlines()]
        for key, value in {"nodes": NODES, "rounds": ROUNDS, "marks": marks}.items():
            lines = [line.replace(f"{{{key}}}", str(value)) for line in lines]
        file = folder / "app" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines))


@contextmanager
def _running(command: list[str], environment: dict[str, str], folder: Path) -> Iterator[int]:
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield process.pid
    finally:
        for pid in reversed(_tree(process.pid)):
            subprocess.run(["kill", str(pid)], check=False, stderr=subprocess.DEVNULL)
        process.wait()


def _await(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError("Flower did not come so far; look at its log")
        time.sleep(0.05)


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["", "0"] + ["0"] * 20


def _tree(root: int) -> list[int]:
    """Yield a process and all its descendants."""
    everyone = [int(file.name) for file in Path("/proc").glob("[0-9]*")]
    parents = {pid: int(_stat(pid)[1]) for pid in everyone}
    found = [root]
    for one in found:
        found += [pid for pid, parent in parents.items() if parent == one]
    return found


def _cpu_of_tree(root: int) -> float:
    """Return the CPU seconds, including those of children that have ended."""
    ticks = sum(sum(map(int, _stat(pid)[11:15])) for pid in _tree(root))
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
