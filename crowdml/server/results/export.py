"""Export the model that a task has learnt."""

import numpy as np

from crowdml.learnt import About, LearntModel, estimator
from crowdml.models import LinearModel
from crowdml.phrase import Phrase
from crowdml.protocol import rejected
from crowdml.server.log import Published


def learnt_model(now: Published) -> LearntModel:
    """Return weights K×D, intercepts K, and what is needed to use them; reject an empty task."""
    model, w = now.task.terms.make_model(), now.learnt
    if not isinstance(model, LinearModel):
        raise TypeError(f"only linear models can be exported, found {type(model).__name__}")
    w0 = now.task.w0
    if np.array_equal(w, np.zeros_like(w) if w0 is None else w0):
        words = Phrase(
            "{task} has learnt nothing yet: of its {n} check-ins none has changed the model. "
            "Try again when there are more.",
            task=now.task.name,
            n=now.version,
        )
        raise rejected("not-found", words)
    k, d = model.n_scores, model.n_features
    intercepts = w[k * d :] if model.intercept else np.zeros(k)
    about = About.of(now.task.terms, now.terms_sha256, now.version)
    return estimator(about, w[: k * d].reshape(k, d), intercepts)
