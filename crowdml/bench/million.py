"""Simulate a crowd of a million devices, and measure time and memory."""

import resource
import sys
import time

from crowdml.bench.simulator import samples
from crowdml.simulation import Crowd, Learning, Plan, simulate, uniform_delay

BATCH, TAU = 10, 1000.0


def bench_million(devices: int = 1_000_000, per_device: int = 10) -> dict[str, float]:
    """Simulate b = 10, three delays uniform on [0, 1000Δ] each, ε = 10, one pass."""
    before = time.perf_counter()
    data = samples(devices * per_device)
    data_s, data_mb = time.perf_counter() - before, _peak_mb()
    crowd = Crowd(devices=devices, batch=BATCH, delay=uniform_delay(TAU))
    before = time.perf_counter()
    (curve,) = simulate(data, [Plan(crowd, Learning(epsilon=10.0))], points=10)
    return {
        "devices": devices,
        "samples": len(data.y_train),
        "checkins": curve.checkins,
        "online_error": float(curve.online_errors[0, -1]),
        "data_s": data_s,
        "run_s": time.perf_counter() - before,
        "samples_mb": (data.x_train.nbytes + data.y_train.nbytes) / 1e6,
        "data_peak_mb": data_mb,
        "peak_mb": _peak_mb(),
    }


def _peak_mb() -> float:
    """Return the largest resident size of this process, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3 / 1.024)
