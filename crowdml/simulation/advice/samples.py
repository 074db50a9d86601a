"""Load the samples for a plan, in the order of a task's columns and labels."""

from pathlib import Path

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.pilot import PilotSamples, read_samples
from crowdml.protocol import Task
from crowdml.simulation.datasets import DATASET_NAMES, load_dataset
from crowdml.tables import read_dialect, read_table


def load_samples(
    source: str,
    task: Task,
    *,
    label: str | None = None,
    person: str | None = None,
    csv: str | None = None,
) -> PilotSamples:
    """Load samples for a plan on a pilot.

    Args:
        source: A .csv, .jsonl or .npz file, or the name of a data set.
        task: The task whose columns and labels the samples have.
        label: The column with the answers, where its name is unusual.
        person: The column that names each row's person, where its name is unusual.
        csv: The signs between columns and before decimals, such as `;,`, where they are unusual.
    """
    if source not in DATASET_NAMES:
        table = read_table(Path(source), read_dialect(csv) if csv else None)
        return read_samples(table, task.terms, label, person)
    data, labels = load_dataset(source), task.terms.target.labels
    shape = data.x_train.shape[1], sorted(data.labels)
    if shape != (task.terms.features.count, sorted(labels)):
        raise InvalidInput(
            f"{source} must have the task's {task.terms.features.count} features and its labels "
            f"{', '.join(labels) or 'none'}, found {shape[0]} and {', '.join(shape[1]) or 'none'}."
        )
    y = data.y_train
    if labels:
        y = np.array([labels.index(name) for name in data.labels], np.float64)[y.astype(int)]
    known = len(np.unique(data.person)) > 1
    return PilotSamples(data.x_train, y, data.person if known else None)
