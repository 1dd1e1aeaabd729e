"""Lorebooks: reads and writes their formats, and decides which entries a text activates."""
