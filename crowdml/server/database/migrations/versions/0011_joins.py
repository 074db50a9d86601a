"""Record for a day from which networks devices joined, and how often one left or was revoked.

Revision ID: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("tasks", sa.Column("removed", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "joins",
        sa.Column("task", sa.Integer, sa.ForeignKey("tasks.id"), primary_key=True),
        sa.Column("device", sa.Integer, primary_key=True),
        sa.Column("network", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "network_keys",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
    )
