"""Fuzz a parser of outside bytes: `python -m tests.fuzz terms -runs=100000`.

`all` lets the first byte of an input choose the parser. The fuzzer sees which lines an input
reaches. It stops with an error at the first input that raises an error which is not crowdml's own.
Other options are libFuzzer's.
"""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["crowdml"]):
    from tests.fuzz.parsers import PARSERS, enter

CORPUS = Path(__file__).with_name("corpus")


def any_parser(data: bytes) -> None:
    if data:
        enter(list(PARSERS)[data[0] % len(PARSERS)], data[1:])


if __name__ == "__main__":
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, any_parser if name == "all" else lambda data: enter(name, data))
    atheris.Fuzz()
