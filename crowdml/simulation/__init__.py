"""Data sets and central baselines."""

from crowdml.simulation.baselines import central_batch, error_rate
from crowdml.simulation.datasets import Dataset, load_activity, load_dataset, load_digits

__all__ = [
    "Dataset",
    "central_batch",
    "error_rate",
    "load_activity",
    "load_dataset",
    "load_digits",
]
