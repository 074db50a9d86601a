"""Load the activity data as the paper's phones had them: spectra in m/s², not normalised."""

from dataclasses import replace

from crowdml.simulation import Dataset, load_activity, load_dataset


def load_spectrum() -> Dataset:
    """Load MotionSense with all 64 bins of |FFT| in m/s², which no device rescales.

    The paper normalises the digits' features and says nothing of the kind about activities. Only
    without normalisation is its range of c, 1e-6 to 1, one in which learning is possible. Such
    features have no bound, so they are for simulation without noise only.

    Paper: Section V-B.

    >>> import numpy as np
    >>> round(float(np.median(load_spectrum().x_train[:, 0])))
    646
    """
    return replace(load_activity("paper"), name="spectrum", raw=True)


def load_data(name: str) -> Dataset:
    """Load `spectrum`, `activity` with the paper's features, or a data set of the simulator."""
    if name == "activity":
        return load_activity("paper")
    return load_spectrum() if name == "spectrum" else load_dataset(name)
