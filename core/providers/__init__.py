"""Implementations that turn messages into a stream of text (design 8)."""
