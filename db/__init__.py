"""Durable storage in PostgreSQL: what `core.store.Store` asks for (design 4 and 11)."""
