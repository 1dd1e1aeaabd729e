"""Requests to models: their kinds, and how they are retried (design 2 and 6)."""
