"""Run migrations on the connection that `db.schema.migrate` passes in; there is no other way in.

A URL in a configuration file would not do: a socket's address has `%2F` in it, which its parser reads
as interpolation, and a password does not belong in a file.
"""

from alembic import context

from db.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=True,
)
# The caller holds the transaction and the lock; both end together.
context.run_migrations()
