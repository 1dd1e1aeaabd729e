"""The history of the schema, for alembic; `db.migrate` runs it at start (design 11)."""
