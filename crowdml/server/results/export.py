"""Export the model that a task has learnt."""

import numpy as np

from crowdml.learnt import LearntModel, ModelDescription, make_estimator
from crowdml.models import LinearModel
from crowdml.phrase import Phrase
from crowdml.protocol import rejected
from crowdml.server.log import Published


def has_learnt(published: Published) -> bool:
    """Decide whether any check-in has changed the model that people use."""
    w0 = published.task.w0
    return not np.array_equal(
        published.exported, np.zeros_like(published.exported) if w0 is None else w0
    )


def learnt_model(published: Published) -> LearntModel:
    """Return weights K×D, intercepts K, and what is needed to use them; reject an empty task."""
    model, w = published.task.terms.make_model(), published.exported
    if not isinstance(model, LinearModel):
        raise TypeError(f"only linear models can be exported, found {type(model).__name__}")
    if not has_learnt(published):
        words = Phrase(
            "{task} has learnt nothing yet: of its {n} check-ins none has changed the model. "
            "Try again when there are more.",
            task=published.task.name,
            n=published.version,
        )
        raise rejected("not-found", words)
    k, d = model.n_scores, model.n_features
    intercepts = w[k * d :] if model.intercept else np.zeros(k)
    about = ModelDescription.of(published.task.terms, published.terms_sha256, published.version)
    return make_estimator(about, w[: k * d].reshape(k, d), intercepts)
