"""Create the oldest tables that later versions take over.

There is nothing to run: a new database is made from the schema, and has the newest version at once.

Revision ID: 0010
"""

revision = "0010"
down_revision = None
