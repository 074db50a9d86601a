"""Migrate over the connection that the store hands in: Alembic's entry."""

from alembic import context

from crowdml.server.database.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
