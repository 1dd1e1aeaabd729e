"""Commits, the writer's lock, and the notification of a commit to other windows (design 6)."""
