"""Commits, the lock of the one who writes, and how others learn of a commit (design 6)."""
