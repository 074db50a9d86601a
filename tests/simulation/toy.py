"""Make small data sets to learn from."""

import numpy as np

from crowdml.simulation import Dataset


def classes(n: int = 300, n_features: int = 7, n_classes: int = 3, seed: int = 0) -> Dataset:
    """Make noisy clusters with ‖x‖₁ ≤ 1, with a third as many samples for testing."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, n_features))
    y = rng.integers(n_classes, size=n + n // 3)
    x = centres[y] + rng.normal(size=(len(y), n_features))
    return _dataset(x, y.astype(float), n, tuple("abcdefghij"[:n_classes]))


def numbers(n: int = 300, n_features: int = 7, seed: int = 0) -> Dataset:
    """Make a linear function with noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n + n // 3, n_features))
    y = x @ rng.normal(size=n_features) / n_features + 0.3 + 0.1 * rng.normal(size=len(x))
    return _dataset(x, y, n, ())


def _dataset(x: np.ndarray, y: np.ndarray, n: int, labels: tuple[str, ...]) -> Dataset:
    x = x / np.maximum(1.0, np.abs(x).sum(axis=1, keepdims=True))
    return Dataset("toy", labels, x[:n], y[:n], np.zeros(n, np.int64), x[n:], y[n:])
