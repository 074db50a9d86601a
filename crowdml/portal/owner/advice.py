"""What an owner should know about a task before it exists."""

from crowdml.portal.language import say
from crowdml.portal.words import percent
from crowdml.privacy import Unit
from crowdml.protocol import Task
from crowdml.server.totals import error_estimate

__all__ = ["advice"]


def advice(task: Task) -> str | None:
    """How well its error will be known in the end; None if it is not measured.

    That much is certain: it follows from public numbers. Whether a crowd learns depends on its
    data as well.
    """
    terms, mechanism = task.terms, task.terms.mechanism()
    if mechanism.unit is Unit.CHECKIN:
        measured, predictions = round(terms.collection.evaluators * task.t_max), 1
    else:
        n = terms.collection.batch
        measured, predictions = task.t_max, int(terms.collection.heldout * n) or n
    measured = min(measured, task.stop.window)
    evaluated = measured * predictions
    found = error_estimate(evaluated / 2, evaluated, measured, mechanism.error_variance)
    if found is None:
        return None
    if found.margin >= 0.3:
        return say("In the end its error will hardly be known: too few predictions are counted.")
    return say(
        "In the end its error will be known to within ± {margin}.", margin=percent(found.margin)
    )
