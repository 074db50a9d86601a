"""Keep a recent copy of the crowd's model."""

import time

from crowdml.device.membership import Membership
from crowdml.errors import Unreachable
from crowdml.learnt import LearntModel

FRESH_SECONDS = 3600.0
"""Seconds after which a model to predict with is renewed."""


class CurrentModel:
    """Fetch the model when it is first needed, and again once it is old or has other terms."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self._model: LearntModel | None = None
        self._old = 0.0

    def get(self) -> LearntModel:
        """Return the model on the agreed terms; an old one if the server cannot be reached."""
        self._membership.refresh()
        agreement, model = self._membership.agreement, self._model
        known = agreement.terms_sha256
        if model is None or known != model.about.terms_sha256 or time.monotonic() > self._old:
            try:
                model = agreement.accept_export(self._membership.transport.export())
            except Unreachable:
                if model is None:
                    raise
            self._model, self._old = model, time.monotonic() + FRESH_SECONDS
        return model
