"""Every node learns from a counter that an owner has edited a task.

Revision ID: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    counter = sa.Column("edited", sa.Integer, nullable=False, server_default="0")
    op.add_column("tasks", counter)
