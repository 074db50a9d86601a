"""Load activities of people from the phone in their pocket: MotionSense and ExtraSensory."""

import io
from importlib.resources import files

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.simulation.datasets.dataset import Dataset
from crowdml.simulation.datasets.dataset_files import EXTRASENSORY, read_dataset_file
from crowdml.simulation.datasets.scaling import CLIP_DEVIATIONS, standardized
from crowdml.types import Array, Flags, Ints

GRAVITY_WEIGHT = 0.1
"""Bin 0 of the spectrum is nine tenths gravity. Fixed here, not learnt from anyone's data."""

STEP_BINS = 12
"""Bins of the spectrum, each 0.31 Hz wide, that show steps: fewer numbers carry less noise. Chosen
by cross-validation over the people for training."""

FIRST_TEST_PERSON = {"motionsense": 19, "extrasensory": 22}


def load_activity(features: str = "demo") -> Dataset:
    """Load MotionSense: 24 people, 3 activities; people 19 to 24 are for testing.

    x are the amplitudes of the Fourier transform of the acceleration's magnitude over 3.2 s at
    20 Hz. Every row is longer than 1. Rows are in the order of time within each recording.

    Args:
        features: `"paper"` for all 64 bins, `"demo"` for the 12 below 3.5 Hz, where people's steps
            are, bin 0 weighted down by ten because it is mostly gravity.

    Source and licence: `crowdml/data/LICENSE-motionsense.txt`.

    Paper: Section V-B.

    >>> data = load_activity()
    >>> data.x_train.shape, data.x_test.shape, data.labels
    ((6474, 12), (2191, 12), ('Still', 'Walking', 'Jogging'))
    >>> load_activity(features="paper").x_train.shape
    (6474, 64)
    """
    with (
        files("crowdml.data").joinpath("activity.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as archive,
    ):
        x = archive["spectrum"].astype(np.float64)
        y, person = archive["y"], archive["user"]
    if features == "paper":
        x = np.hstack([x, x[:, 31:0:-1]])
    elif features == "demo":
        x = x[:, :STEP_BINS]
        x[:, 0] *= GRAVITY_WEIGHT
    else:
        raise InvalidInput(f"the features must be paper or demo, found {features!r}.")
    labels = ("Still", "Walking", "Jogging")
    test = person >= FIRST_TEST_PERSON["motionsense"]
    return _split("activity", labels, x, y, person, test)


def load_extrasensory() -> Dataset:
    """Load ExtraSensory: 30 people in the wild, with vehicles; people 22 to 29 are for testing.

    x are 26 features of 20 s of acceleration, standardised by the constants of the people for
    training and cut off at 6 deviations. Rows are in the order of time.

    Y. Vaizman, K. Ellis, G. Lanckriet, "Recognizing Detailed Human Context In-the-Wild from
    Smartphones and Smartwatches", IEEE Pervasive Computing 16(4), 2017.
    """
    with np.load(io.BytesIO(read_dataset_file(EXTRASENSORY)), allow_pickle=False) as archive:
        x = archive["X"].astype(np.float64)
        y, person = archive["y"], archive["user"]
        labels = tuple(archive["class_names"].tolist())
    test = person >= FIRST_TEST_PERSON["extrasensory"]
    x = np.clip(standardized(x, x[~test]), -CLIP_DEVIATIONS, CLIP_DEVIATIONS)
    return _split("extrasensory", labels, x, y, person, test)


def on_label_change(y: Array | Ints, person: Ints) -> Ints:
    """Return the rows whose label differs from the same person's row before, and each first row.

    The paper's phones collect a sample only then, to avoid highly correlated samples.

    Args:
        y: Labels, in the order of time for each person.
        person: The person of each row; people may alternate.

    Paper: Section V-B.

    >>> on_label_change(np.array([0, 0, 1, 1, 0]), np.array([5, 5, 5, 6, 5])).tolist()
    [0, 2, 3, 4]
    """
    order = np.argsort(person, kind="stable")
    kept = np.ones(len(order), dtype=bool)
    kept[1:] = (np.diff(y[order]) != 0) | (np.diff(person[order]) != 0)
    return np.sort(order[kept])


def _split(
    name: str, labels: tuple[str, ...], x: Array, y: Ints, person: Ints, test: Flags
) -> Dataset:
    y_train, y_test = y[~test].astype(np.float64), y[test].astype(np.float64)
    people = person[~test].astype(np.int64)
    return Dataset(name, labels, x[~test], y_train, people, x[test], y_test)
