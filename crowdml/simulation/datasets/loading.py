"""Load a data set by its name on the command line."""

from collections.abc import Callable
from pathlib import Path

from crowdml.errors import InvalidInput
from crowdml.simulation.datasets.activity import load_activity, load_extrasensory
from crowdml.simulation.datasets.air import load_air
from crowdml.simulation.datasets.dataset import Dataset
from crowdml.simulation.datasets.images import load_cifar10, load_digits, load_mnist
from crowdml.simulation.datasets.user_files import load_csv, load_npz

LOADERS: dict[str, Callable[[], Dataset]] = {
    "activity": load_activity,
    "air": load_air,
    "cifar10": load_cifar10,
    "digits": load_digits,
    "extrasensory": load_extrasensory,
    "mnist": load_mnist,
}
READERS: dict[str, Callable[[Path], Dataset]] = {".csv": load_csv, ".npz": load_npz}

DATASET_NAMES = tuple(LOADERS)


def load_dataset(name: str) -> Dataset:
    """Load one of `DATASET_NAMES`, or a file of the user's own: see `load_npz`, `load_csv`.

    `activity` and `digits` need nothing else. The others come from the folder that the
    environment variable CROWDML_DATA names, or from the internet where they are public.

    >>> load_dataset("digits").name
    'digits'
    """
    if name in LOADERS:
        return LOADERS[name]()
    path = Path(name)
    if path.suffix.lower() in READERS:
        return READERS[path.suffix.lower()](path)
    raise InvalidInput(
        f"the data set must be {', '.join(DATASET_NAMES)} or a path that ends in .npz or .csv, "
        f"found {name!r}."
    )
