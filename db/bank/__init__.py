"""The memory bank in PostgreSQL (design 15)."""
