"""The history of the schema, for alembic; `db.schema.migrate` runs it at start (design 11)."""
