"""Requests of the memory bank: items are drawn from chunks of play, and get vectors (design 15)."""
