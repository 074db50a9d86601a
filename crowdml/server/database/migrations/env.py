"""Alembic's entry: migrate over the connection that the store hands in."""

from alembic import context

from crowdml.server.database.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
