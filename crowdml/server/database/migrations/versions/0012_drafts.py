"""Add the forms that owners have begun.

Revision ID: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "drafts",
        sa.Column("owner", sa.String(63), sa.ForeignKey("owners.name"), primary_key=True),
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("form", sa.Text, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
