"""Define the range of every number on the command line; only an ε may be inf, none may be nan."""

import math
from typing import Any

import typer

from crowdml.errors import InvalidInput

RANGES: dict[str, tuple[float, float]] = {
    "checkins": (1, 10**12),
    "clients": (1, 100_000),
    "concentration": (1e-6, 10**6),
    "devices": (1, 100_000_000),
    "epsilon": (0, math.inf),
    "error": (0, 1),
    "finite epsilon": (0, 10**6),
    "hour": (0, 3600),
    "listeners": (0, 2000),  # each listener needs one of a server's 4096 connections
    "port": (0, 65535),
    "processes": (1, 64),
    "rounds": (1, 10**6),
    "samples": (1, 100_000),
    "samples of all": (1, 10**9),
    "seconds": (0, 86_400),
    "seed": (0, 2**63 - 1),
    "share": (0, 1),
    "sigma": (0, 10),
    "staleness": (0, 10**9),
    "tasks": (1, 10**7),
    "trials": (1, 10**9),
    "uses": (1, 10**9),
}
"""The smallest and the largest number, by what is counted or measured."""


def in_range(what: str, help: str) -> Any:
    """Make an option for a number; a number outside of its range ends the command with one line."""
    least, most = RANGES[what]

    def check(param: typer.CallbackParam, value: float | None) -> float | None:
        if value is None or least <= value <= most:
            return value
        raise InvalidInput(f"{param.opts[0]} must lie in {least:,} … {most:,}, found {value}.")

    return typer.Option(callback=check, help=help)
