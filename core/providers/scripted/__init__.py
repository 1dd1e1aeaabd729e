"""Replies from a script, for tests and demonstrations."""
