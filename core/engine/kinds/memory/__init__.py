"""Requests that write structured memory: the lock, summaries, condensing (design 6 and 7)."""
