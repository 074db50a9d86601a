"""Measure the parts of crowdml: ratios against a reference in the same run.

`crowdml bench` calls this package. A benchmark starts real servers and devices, and changes none of
them; benchmarks/README.md has the numbers of earlier runs.
"""

from typing import TYPE_CHECKING

from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.bench.device import bench_device
    from crowdml.bench.million import bench_million
    from crowdml.bench.portal import bench_portal
    from crowdml.bench.server import MECHANISMS, LoadSettings, bench_server
    from crowdml.bench.simulator import bench_simulator, table

__all__ = [
    "MECHANISMS",
    "LoadSettings",
    "bench_device",
    "bench_million",
    "bench_portal",
    "bench_server",
    "bench_simulator",
    "table",
]

# Each benchmark imports libraries that the others do not need.
__getattr__ = lazy(__name__)
