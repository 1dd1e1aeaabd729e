"""Draws items from chunks of play into the memory bank (design 15)."""
