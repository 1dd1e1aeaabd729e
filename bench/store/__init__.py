"""Measures the database: its start, the opening of a session, recall among many items."""
