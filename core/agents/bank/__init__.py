"""Inputs and answers of the memory bank: extraction from a part of play, and comparison with known items."""
