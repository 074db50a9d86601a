"""PostgreSQL need not look for the task of every check-in: whoever appends has locked its row.

Revision ID: 0008
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for table in ("checkins", "told"):
            op.drop_constraint(f"{table}_task_fkey", table)
