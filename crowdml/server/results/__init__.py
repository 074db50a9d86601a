"""Publish what leaves the server about a task: statistics, the model as a file, its card.

Routes and pages call these functions, in any thread: they read what a learner has published and
change nothing. What they say about samples comes from sanitised check-ins alone.
"""

from crowdml.server.results.card import model_card
from crowdml.server.results.export import has_learnt, learnt_model
from crowdml.server.results.task_view import (
    CrowdedJoins,
    crowded_joins,
    current_statistics,
    task_view,
)

__all__ = [
    "CrowdedJoins",
    "crowded_joins",
    "current_statistics",
    "has_learnt",
    "learnt_model",
    "model_card",
    "task_view",
]
