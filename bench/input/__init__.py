"""Measures an input: its length, the lore that is activated for it, a book that grows."""
