"""Measures how well models of different sizes play: whole chapters, and figures of their texts."""
