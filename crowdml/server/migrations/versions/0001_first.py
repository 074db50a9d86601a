"""The first schema.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(63), nullable=False, unique=True),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("terms", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "devices",
        sa.Column("task", sa.Integer, sa.ForeignKey("tasks.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(32), nullable=False, unique=True),
        sa.Column("token_sha256", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("status", sa.String(16), nullable=False),
    )
    op.create_table(
        "invites",
        sa.Column("code_sha256", sa.LargeBinary(32), primary_key=True),
        sa.Column("task", sa.Integer, sa.ForeignKey("tasks.id"), nullable=False),
        sa.Column("uses_left", sa.Integer, nullable=False),
    )
    op.create_table(
        "checkins",
        sa.Column("task", sa.Integer, sa.ForeignKey("tasks.id"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("device", sa.Integer, nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("samples", sa.Integer, nullable=False),
        sa.Column("heldout", sa.Integer, nullable=False),
        sa.Column("errors", sa.BigInteger, nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("grid", sa.Integer, nullable=False),
        sa.Column("gradient", sa.LargeBinary, nullable=False),
        sa.Column("minute", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("id", "task", "device"),
    )
    op.create_table(
        "snapshots",
        sa.Column("task", sa.Integer, sa.ForeignKey("tasks.id"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("fold", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    for table in ("snapshots", "checkins", "invites", "devices", "tasks"):
        op.drop_table(table)
