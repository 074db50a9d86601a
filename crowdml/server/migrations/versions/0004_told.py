"""The log keeps what the mechanism told, apart; check-ins of some mechanisms are numbered.

Revision ID: 0004
"""

import sqlalchemy as sa
from alembic import op

from crowdml.errors import CrowdmlError

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().execute(sa.text("SELECT count(*) FROM tasks")).scalar():
        raise CrowdmlError(
            "this database holds tasks whose terms name no mechanism, and devices pin their terms. "
            "Export their models with the version that made it, and begin with a new database."
        )
    op.drop_table("checkins")
    op.create_table(
        "checkins",
        sa.Column("task", sa.Integer, sa.ForeignKey("tasks.id"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("device", sa.Integer, nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer),
        sa.Column("samples", sa.Integer),
        sa.UniqueConstraint("task", "device", "id"),
    )
    op.create_table(
        "told",
        sa.Column("task", sa.Integer, sa.ForeignKey("tasks.id"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("told", sa.LargeBinary, nullable=False),
    )
    numbered = sa.text("number IS NOT NULL")
    op.create_index(
        "checkins_by_number",
        "checkins",
        ["task", "device", "number"],
        unique=True,
        sqlite_where=numbered,
        postgresql_where=numbered,
    )
