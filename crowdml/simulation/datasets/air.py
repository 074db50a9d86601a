"""Load Beijing's air quality: predict fine dust from the other measurements, a regression."""

import io

import numpy as np

from crowdml.simulation.datasets.dataset import Dataset
from crowdml.simulation.datasets.dataset_files import AIR, read_dataset_file
from crowdml.simulation.datasets.scaling import CLIP_DEVIATIONS, standardized

TRAIN_SHARE = 0.75


def load_air() -> Dataset:
    """Load PM2.5 at 12 stations every third hour for four years, with ten other measurements.

    Stations are the people. The first 75 % of the time is for training and the rest for testing;
    rows with a missing value are left out. All columns are standardised by the constants of the
    first 75 % (public history) and x is cut off at 6 deviations. y is standardised too, so that
    errors are in units of its deviation.

    S. Chen, "Beijing Multi-Site Air Quality", UCI Machine Learning Repository, 2019,
    doi 10.24432/C5RK5G, CC BY 4.0.
    """
    with np.load(io.BytesIO(read_dataset_file(AIR)), allow_pickle=False) as archive:
        values = archive["values"].astype(np.float64)
    n_stations, n_times, n_columns = values.shape
    station, time = (grid.ravel() for grid in np.indices((n_stations, n_times)))
    values = values.reshape(-1, n_columns)
    whole = ~np.isnan(values).any(axis=1)
    values, station, early = values[whole], station[whole], time[whole] < TRAIN_SHARE * n_times
    values = standardized(values, values[early])
    y, x = values[:, 0], np.clip(values[:, 1:], -CLIP_DEVIATIONS, CLIP_DEVIATIONS)
    return Dataset("air", (), x[early], y[early], station[early], x[~early], y[~early])
