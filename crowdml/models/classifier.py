"""Predict the class with the highest score: the code that linear classifiers share."""

from dataclasses import dataclass

import numpy as np

from crowdml.errors import InvalidInput
from crowdml.models.linear import LinearModel
from crowdml.types import Array, Flags


@dataclass(frozen=True)
class LinearClassifier(LinearModel):
    """Predict argmax_k w_k'x, ties to the lowest k; an error is a wrong class."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_classes < 2:
            raise InvalidInput(f"a classifier needs at least 2 classes, found {self.n_classes}.")

    def predict_scores(self, s: Array) -> Array:
        best: Array = np.argmax(s, axis=1).astype(float)
        return best

    def mistakes(self, w: Array, x: Array, y: Array) -> Flags:
        wrong: Flags = self.predict(w, x) != y
        return wrong
