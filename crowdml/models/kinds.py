"""List the kinds of models that a task can name; task files, pages and devices read this list."""

from collections.abc import Callable
from typing import Any, NamedTuple

from crowdml.keywords import check_keywords
from crowdml.models.hinge import Hinge
from crowdml.models.model import Model
from crowdml.models.regression import Huber, Ridge
from crowdml.models.softmax import Softmax


class ModelKind(NamedTuple):
    """Describe a kind of model.

    Args:
        make: `make(n_features, n_classes, intercept, **settings)` returns the model.
        classifier: Whether the model predicts labels; otherwise it predicts a number.
        words: A description for people who read a task.
        settings: Names of the settings that only some kinds have.
    """

    make: Callable[..., Model]
    classifier: bool
    words: str
    settings: tuple[str, ...] = ()

    def model(
        self, n_features: int, n_classes: int, intercept: bool = False, **settings: Any
    ) -> Model:
        """Make a model of this kind; settings that only other kinds have are ignored.

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
        "linear regression with Huber's error, which outliers affect less",
        ("tolerance", "delta"),
    ),
}
