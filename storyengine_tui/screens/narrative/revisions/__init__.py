"""Revisions of memory on tab 3: made again, edited; canon locks pinned and struck (design 12)."""
