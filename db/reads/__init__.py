"""Queries: what is read of chapters, and the bounds of each (design 11)."""
