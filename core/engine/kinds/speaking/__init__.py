"""Requests in which a character speaks, or is asked whether it would (design 6 and 17)."""
