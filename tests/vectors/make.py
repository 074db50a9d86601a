"""Write the vectors: `python -m tests.vectors.make` in the root of the repository.

Each file has inputs, chosen in `cases.py`, and outputs, computed by the package in `compute.py`. A
change of an output is a change of the protocol or of a mechanism: look twice before committing it.
"""

import json
from collections.abc import Callable
from pathlib import Path

from tests.vectors import cases, compute
from tests.vectors.compute import Case

HERE = Path(__file__).parent

VECTORS: dict[str, tuple[Callable[[], list[Case]], Callable[[Case], Case]]] = {
    name: (getattr(cases, name), getattr(compute, name))
    for name in compute.__all__
    if name != "Case"
}


def main() -> None:
    for name, (make_cases, make_output) in VECTORS.items():
        document = [{"input": case, "output": make_output(case)} for case in make_cases()]
        lines = ",\n".join(json.dumps(pair, ensure_ascii=False) for pair in document)
        (HERE / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
