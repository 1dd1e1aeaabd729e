"""What the GM does with the items of a memory bank (design 15)."""
