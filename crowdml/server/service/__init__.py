"""Run a node: tasks by name, devices by token, group commit, and the node's heartbeat.

All writing happens in one thread here. Routes ask the service and never touch the database.
"""

from crowdml.server.service.bodies import Bodies, IncomingBody
from crowdml.server.service.counts import Counts
from crowdml.server.service.served_task import ServedTask
from crowdml.server.service.service import Service

__all__ = ["Bodies", "Counts", "IncomingBody", "ServedTask", "Service"]
