"""Commands of the GM on the items of a memory bank (design 15)."""
