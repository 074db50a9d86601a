"""Run several equal processes on one machine, and replace a process that dies."""

import multiprocessing
import signal
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import TypeAlias

from crowdml.server.operation.logs import Announce

Work: TypeAlias = Callable[[Announce], None]
"""The function that a worker runs; it gets the function that prints lines for people."""

RESTART_SECONDS = 1.0
"""Seconds before a worker that died is replaced, so that a worker that always dies costs little."""


def run_workers(work: Work, workers: int, announce: Announce) -> None:
    """Run until SIGTERM or SIGINT, pass the signal to every worker, and wait for all of them."""
    context = multiprocessing.get_context("spawn")
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())

    def start(index: int) -> BaseProcess:
        speaker = announce if index == 0 else _silent
        process = context.Process(target=_work, args=(work, speaker), name=f"worker-{index + 1}")
        process.start()
        return process

    running = [start(index) for index in range(workers)]
    while not ending.wait(0.1):
        for index, process in enumerate(running):
            if not process.is_alive() and not ending.is_set():
                announce(f"{process.name} ended with {process.exitcode}; starting another")
                ending.wait(RESTART_SECONDS)
                running[index] = start(index)
    for process in running:
        if process.is_alive():
            process.terminate()
    for process in running:
        process.join()


def _work(work: Work, announce: Announce) -> None:
    # Ctrl-C reaches every process of a terminal; the first process ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    work(announce)


def _end_with_parent() -> None:
    """End with the parent: a worker without it would keep the port occupied."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _silent(line: str) -> None:
    """Silence this worker, because one worker logs for all."""
