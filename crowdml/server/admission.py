"""The gate: every check of a check-in that does not depend on the order of arrivals.

None of it changes anything; each failure has its own problem type.
"""

from functools import lru_cache

import numpy as np

from crowdml.privacy import Sanitizer
from crowdml.protocol import Checkin, Terms, rejected

__all__ = ["Gate"]


class Gate:
    """What the terms of one task allow."""

    def __init__(self, terms: Terms, terms_sha256: str) -> None:
        self._terms = terms
        self._terms_sha256 = terms_sha256
        self._sanitizer: Sanitizer = terms.sanitizer()
        # A check-in in JSON: base64 of 4 bytes a parameter, the counts, and room for names.
        self.largest_body = self._sanitizer.size * 16 // 3 + terms.n_classes * 12 + 2048
        # Both depend on public numbers only, and devices mostly send the same n.
        self._grid = lru_cache(maxsize=1024)(self._sanitizer.grid)
        self._plausible = lru_cache(maxsize=1024)(self._sanitizer.plausible_gradient)

    def check(self, checkin: Checkin) -> None:
        """Raise `Rejected` unless an honest device with these terms could have sent this."""
        if checkin.terms != self._terms_sha256:
            raise rejected(
                "terms-changed",
                f"terms must be {self._terms_sha256}, found {checkin.terms}. "
                "Read the task's terms again before taking part.",
            )
        self._check_samples(checkin)
        self._check_sizes(checkin)
        self._check_values(checkin)

    def _check_samples(self, checkin: Checkin) -> None:
        collection, n = self._terms.collection, checkin.samples
        if n < collection.batch:
            raise rejected(
                "too-few-samples",
                f"samples must be at least {collection.batch}, found {n}. Collect more.",
            )
        if n > collection.buffer:
            raise rejected(
                "too-many-samples",
                f"samples must be at most {collection.buffer}, found {n}. Stop at the buffer.",
            )
        expected = collection.n_heldout(n)
        if checkin.heldout != expected:
            raise rejected(
                "wrong-heldout",
                f"heldout must be {expected} of {n} samples, found {checkin.heldout}.",
            )

    def _check_sizes(self, checkin: Checkin) -> None:
        if len(checkin.labels) != self._terms.n_classes:
            raise rejected(
                "wrong-size",
                f"labels must be {self._terms.n_classes} counts, found {len(checkin.labels)}.",
            )
        if len(checkin.gradient) != 4 * self._sanitizer.size:
            raise rejected(
                "wrong-size",
                f"gradient must be {self._sanitizer.size} int32 values "
                f"({4 * self._sanitizer.size} bytes), found {len(checkin.gradient)} bytes.",
            )

    def _check_values(self, checkin: Checkin) -> None:
        n_training = checkin.samples - checkin.heldout
        grid = self._grid(n_training)
        if checkin.grid != grid:
            raise rejected(
                "wrong-grid",
                f"grid must be {grid} for {n_training} samples, found {checkin.grid}.",
            )
        errors_excess, labels_excess = self._sanitizer.plausible_excess
        evaluated = checkin.heldout or checkin.samples
        _check_range("errors", checkin.errors, -errors_excess, evaluated + errors_excess)
        if checkin.labels:
            most = checkin.samples + labels_excess
            _check_range("labels", min(checkin.labels), -labels_excess, most)
            _check_range("labels", max(checkin.labels), -labels_excess, most)
        gradient = np.frombuffer(checkin.gradient, dtype="<i4")
        bound = self._plausible(n_training)
        _check_range("gradient", int(np.minimum.reduce(gradient)), -bound, bound)
        _check_range("gradient", int(np.maximum.reduce(gradient)), -bound, bound)


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise rejected("implausible", f"{name} must lie in {low} … {high}, found {value}.")
