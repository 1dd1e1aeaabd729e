"""What the inputs of characters draw on of the memory bank (design 15)."""
