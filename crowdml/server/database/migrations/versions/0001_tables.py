"""Create the tables.

There is nothing to run: a new database is made from the schema, and has the newest version at once.

Revision ID: 0001
"""

revision = "0001"
down_revision = None
