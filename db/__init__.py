"""Durable storage in PostgreSQL: what `SessionStore` asks for (design 4 and 11)."""
