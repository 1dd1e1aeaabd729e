"""The library in PostgreSQL."""
