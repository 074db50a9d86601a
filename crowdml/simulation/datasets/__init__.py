"""Load data sets, real ones by name and a user's own by path, and deal samples to devices.

The simulator, the demo and the reproduction call `load_dataset`, or a loader of one data set. Files
are fetched once and checked by their hash. A loader does not know who simulates its data.
"""

from crowdml.simulation.datasets.activity import load_activity, on_label_change
from crowdml.simulation.datasets.dataset import Dataset
from crowdml.simulation.datasets.images import load_digits
from crowdml.simulation.datasets.loading import DATASET_NAMES, load_dataset
from crowdml.simulation.datasets.row_notes import row_notes
from crowdml.simulation.datasets.set_aside import set_aside
from crowdml.simulation.datasets.synthetic import DIFFICULTIES, synthetic

__all__ = [
    "DATASET_NAMES",
    "DIFFICULTIES",
    "Dataset",
    "load_activity",
    "load_dataset",
    "load_digits",
    "on_label_change",
    "row_notes",
    "set_aside",
    "synthetic",
]
