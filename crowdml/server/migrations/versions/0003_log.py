"""The log is found by device, and `minute` is called what it is: a time. Snapshots are dropped.

Revision ID: 0003
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The gradient comes last, so that reading what stands before it need not go through it.
    _rebuild("minute", "at", place=4, unique=("task", "device", "id"))


def downgrade() -> None:
    _rebuild("at", "minute", place=11, unique=("id", "task", "device"))


def _rebuild(before: str, after: str, place: int, unique: tuple[str, ...]) -> None:
    """A copy of the log: SQLite cannot change the constraints of a table."""
    columns: list[sa.Column[Any]] = [
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
    ]
    kept = ", ".join(column.name for column in columns)
    columns.insert(place, sa.Column(after, sa.BigInteger, nullable=False))
    op.create_table("checkins_copy", *columns, sa.UniqueConstraint(*unique))
    op.execute(
        f"INSERT INTO checkins_copy ({kept}, {after}) "
        f"SELECT {kept}, {before} FROM checkins ORDER BY task, seq"
    )
    op.drop_table("checkins")
    op.rename_table("checkins_copy", "checkins")
    op.execute("DELETE FROM snapshots")
