"""The kinds of models that a task can name: one list, from which everything else follows."""

from collections.abc import Callable
from typing import Any, NamedTuple

from crowdml.keywords import check_keywords
from crowdml.models.hinge import Hinge
from crowdml.models.model import Model
from crowdml.models.regression import Huber, Ridge
from crowdml.models.softmax import Softmax


class ModelKind(NamedTuple):
    """A kind of model.

    Args:
        make: `make(n_features, n_classes, intercept, **settings)` gives the model.
        classifier: Whether it predicts labels, and not a number.
        words: What it is, for people who read a task.
        settings: Names of settings that only some kinds have.
    """

    make: Callable[..., Model]
    classifier: bool
    words: str
    settings: tuple[str, ...] = ()

    def model(
        self, n_features: int, n_classes: int, intercept: bool = False, **settings: Any
    ) -> Model:
        """A model of this kind; settings that only other kinds have are passed over.

        >>> MODELS["huber"].model(2, 0, delta=0.5, tolerance=1.0).bound(1)
        0.5
        """
        check_keywords(
            "model", settings, {name for kind in MODELS.values() for name in kind.settings}
        )
        own = {name: settings[name] for name in self.settings if name in settings}
        return self.make(n_features, n_classes, intercept, **own)


MODELS = {
    "softmax": ModelKind(
        Softmax, True, "logistic regression with one weight per feature and label (softmax)"
    ),
    "hinge": ModelKind(
        Hinge, True, "a linear support vector machine with one weight per feature and label"
    ),
    "ridge": ModelKind(Ridge, False, "linear regression with squared error", ("tolerance",)),
    "huber": ModelKind(
        Huber,
        False,
        "linear regression with Huber's error, which shrugs at outliers",
        ("tolerance", "delta"),
    ),
}
