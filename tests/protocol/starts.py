"""Make starts for the task files of tests."""

from typing import Any

import numpy as np

from crowdml.protocol import Start


def make_start(labels: tuple[str, ...] = ("still", "walk", "run"), **changes: Any) -> Start:
    """Make a start for the tasks of the test servers, also for mechanisms that bound in L2."""
    weights = np.linspace(-1.0, 1.0, 4 * max(len(labels), 1)).reshape(-1, 4)
    facts: dict[str, Any] = {
        "kind": "softmax" if labels else "ridge",
        "weights": weights,
        "rows": 200,
        "people": 4,
        "distance": 2.5,
        "error": 0.2,
        "error_margin": 0.05,
        "norm": 1,
    }
    return Start(labels=labels, **facts | changes)
