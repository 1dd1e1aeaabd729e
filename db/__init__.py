"""Durable storage in PostgreSQL: what `core.store.SessionStore` asks for (design 4 and 11)."""
