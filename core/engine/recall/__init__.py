"""Recall of the memory bank for the inputs of characters (design 15)."""
