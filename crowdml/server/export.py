"""The model that a fold has learnt, ready to be used elsewhere."""

import numpy as np

from crowdml.learnt import About, LearntModel, estimator
from crowdml.models import LinearModel
from crowdml.phrase import Phrase
from crowdml.protocol import rejected
from crowdml.server.fold import Fold

__all__ = ["learnt_model"]


def learnt_model(fold: Fold) -> LearntModel:
    """Weights K×D, intercepts K, and what is needed to use them; refused before there are any."""
    task, model, w = fold.task, fold.model, fold.learnt
    if not isinstance(model, LinearModel):
        raise TypeError(f"only linear models can be exported, found {type(model).__name__}")
    if not w.any():
        raise rejected(
            "not-found",
            Phrase(
                "{task} has learnt nothing yet: of its {n} check-ins none has changed the model. "
                "Try again when there are more.",
                task=task.name,
                n=fold.version,
            ),
        )
    k, d = model.n_scores, model.n_features
    intercepts = w[k * d :] if model.intercept else np.zeros(k)
    about = About.of(task.terms, fold.terms_sha256, fold.version)
    return estimator(about, w[: k * d].reshape(k, d), intercepts)
