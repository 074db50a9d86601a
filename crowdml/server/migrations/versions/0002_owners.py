"""Owners, their sessions, and what they did. Snapshots are dropped: the next ones hold more.

Revision ID: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "owners",
        sa.Column("name", sa.String(63), primary_key=True),
        sa.Column("password", sa.Text, nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("token_sha256", sa.LargeBinary(32), primary_key=True),
        sa.Column("owner", sa.String(63), sa.ForeignKey("owners.name"), nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "actions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("owner", sa.String(63), nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("task", sa.String(63), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.execute("DELETE FROM snapshots")


def downgrade() -> None:
    for table in ("actions", "sessions", "owners"):
        op.drop_table(table)
    op.execute("DELETE FROM snapshots")
