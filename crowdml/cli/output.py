"""What commands print for programs."""

from typing import Any

import msgspec

__all__ = ["print_json"]


def print_json(document: Any) -> None:
    """One JSON object on standard output; JSON has no infinity, so it is written "inf".

    >>> print_json({"epsilon": float("inf"), "checkins": [1, 2]})
    {"epsilon":"inf","checkins":[1,2]}
    """
    print(msgspec.json.encode(_finite(msgspec.to_builtins(document))).decode())


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return "inf" if value == float("inf") else value
