"""The activity data as the paper's phones had them: spectra in m/s², not normalised."""

from dataclasses import replace
from importlib.resources import files

import numpy as np

from crowdml.simulation import Dataset, load_activity, load_dataset

__all__ = ["load_data", "load_spectrum"]


def load_spectrum() -> Dataset:
    """MotionSense with all 64 bins of |FFT| in m/s², the same rows as `load_activity()`.

    The paper normalises the digits' features and says nothing of the kind about activities. Only
    without normalisation is its range of c, 1e-6 to 1, one in which learning is possible. Such
    features have no bound, so they are for simulation without noise only.

    Paper: Section V-B.

    >>> data = load_spectrum()
    >>> round(float(np.median(data.x_train[:, 0])))
    646
    """
    data = load_activity("paper")
    with (
        files("crowdml.data").joinpath("activity.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as archive,
    ):
        half, person = archive["spectrum"].astype(np.float64), archive["user"]
    x = np.hstack([half, half[:, 31:0:-1]])
    training = person <= data.person.max()
    return replace(data, name="spectrum", x_train=x[training], x_test=x[~training])


def load_data(name: str) -> Dataset:
    """`spectrum`, or what the simulator knows by name."""
    return load_spectrum() if name == "spectrum" else load_dataset(name)
