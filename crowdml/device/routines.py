"""Device Routines 2 and 3: from a minibatch and w to the message that may leave."""

import numpy as np

from crowdml.models import Model
from crowdml.privacy import Chance, CheckinRelease, Sanitizer, Summary
from crowdml.protocol import Checkin, encode_gradient
from crowdml.types import Array, Flags

__all__ = ["choose_heldout", "summarize", "write_checkin"]


def choose_heldout(n_samples: int, n_heldout: int, chance: Chance) -> Flags:
    """Set aside n_heldout of the samples, all choices equally likely.

    Args:
        n_samples: n_s.
        n_heldout: How many to set aside.
        chance: Where the choice comes from.

    Paper: Remark 2 of Section III-B.

    >>> from crowdml.privacy import SystemChance
    >>> int(choose_heldout(10, 3, SystemChance()).sum())
    3
    """
    order = np.arange(n_samples)
    for i in range(n_heldout):
        j = i + chance.below(n_samples - i)
        order[i], order[j] = order[j], order[i]
    heldout = np.zeros(n_samples, dtype=np.bool_)
    heldout[order[:n_heldout]] = True
    return heldout


def summarize(model: Model, w: Array, x: Array, y: Array, heldout: Flags, clip: float) -> Summary:
    """Predict, count errors and labels, and average the clipped gradients.

    Errors are counted on the held-out samples, or on all where there are none; gradients are
    averaged over the samples really used for them, so the sensitivity is 2S/n for that n.

    Paper: Algorithm 1, Device Routine 2.

    >>> from crowdml.models import Softmax
    >>> x, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.0, 1.0])
    >>> summary = summarize(Softmax(2, 2), np.zeros(4), x, y, np.array([False, False]), clip=2.0)
    >>> summary.g, summary.n_errors, summary.n_labels
    (array([-0.25,  0.25,  0.25, -0.25]), 1, array([1, 1]))
    """
    training = ~heldout
    evaluated = heldout if heldout.any() else training
    labels = np.bincount(y.astype(np.int64), minlength=model.n_classes) if model.n_classes else ()
    return Summary(
        g=model.mean_gradient(w, x[training], y[training], clip),
        n_errors=int(model.mistakes(w, x[evaluated], y[evaluated]).sum()),
        n_labels=np.array(labels, dtype=np.int64),
        n_training=int(training.sum()),
        n_heldout=int(heldout.sum()),
    )


def write_checkin(
    sanitizer: Sanitizer,
    summary: Summary,
    event: CheckinRelease,
    chance: Chance,
    *,
    w: Array,
    version: int,
    terms_sha256: str,
) -> Checkin:
    """The check-in that tells of a summary no more than the event says.

    Args:
        sanitizer: The mechanism of the terms.
        summary: What Routine 2 computed.
        event: What the check-in tells, as the ledger has approved it.
        chance: Where noise and the id come from.
        w: The parameters that were checked out.
        version: Their version.
        terms_sha256: The hash of the agreed terms.

    Paper: Algorithm 1, Device Routine 3.
    """
    sanitized = sanitizer.sanitize(summary, w, event, chance)
    return Checkin(
        id=chance.token(),
        version=version,
        terms=terms_sha256,
        samples=event.n_samples,
        heldout=event.n_heldout,
        errors=sanitized.n_errors,
        labels=tuple(sanitized.n_labels.tolist()),
        grid=sanitized.grid,
        gradient=encode_gradient(sanitized.gradient),
    )
