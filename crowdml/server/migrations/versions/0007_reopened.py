"""Owners reopen tasks whose target error was not reached in truth.

Revision ID: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tasks", sa.Column("reopened", sa.Text, nullable=False, server_default=""))
