"""Durable storage in PostgreSQL: the stores of `core.storage` (design 4 and 11)."""
