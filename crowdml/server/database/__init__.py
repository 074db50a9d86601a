"""Store everything on disk, in SQLite or PostgreSQL: tables, migrations, every SQL statement.

Only this package speaks SQL. It knows tasks, devices, owners, nodes and rows of the log, and not
what is learnt from them. The service calls it in its own threads, commands directly.
"""

from typing import TYPE_CHECKING

from crowdml.lazy import lazy

if TYPE_CHECKING:
    from crowdml.server.database import schema
    from crowdml.server.database.connection import Database, DatabaseChanges
    from crowdml.server.database.invites import invite_required
    from crowdml.server.database.joins import DAY
    from crowdml.server.database.log import (
        DEVICE_ORDERS,
        DROPPED_PAYLOAD,
        CheckinMark,
        DeviceTotals,
        Log,
        marks_of,
    )
    from crowdml.server.database.log_entry import LogEntry, this_minute
    from crowdml.server.database.nodes import MetricValue, NodeRow
    from crowdml.server.database.opening import new_file, open_database, remove_new
    from crowdml.server.database.owner_settings import DELETED, OwnerSettings
    from crowdml.server.database.owners import COMMAND_LINE, SESSION_SECONDS
    from crowdml.server.database.passwords import LONGEST_PASSWORD, password_matches
    from crowdml.server.database.store import DeviceRow, Store, TaskRow
    from crowdml.server.database.tokens import token_sha256

__all__ = [
    "COMMAND_LINE",
    "DAY",
    "DELETED",
    "DEVICE_ORDERS",
    "DROPPED_PAYLOAD",
    "LONGEST_PASSWORD",
    "SESSION_SECONDS",
    "CheckinMark",
    "Database",
    "DatabaseChanges",
    "DeviceRow",
    "DeviceTotals",
    "Log",
    "LogEntry",
    "MetricValue",
    "NodeRow",
    "OwnerSettings",
    "Store",
    "TaskRow",
    "invite_required",
    "marks_of",
    "new_file",
    "open_database",
    "password_matches",
    "remove_new",
    "schema",
    "this_minute",
    "token_sha256",
]

# Importing an entry of the log must not import an SQL library.
__getattr__ = lazy(__name__)
