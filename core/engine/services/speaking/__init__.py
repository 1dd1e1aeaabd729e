"""Characters that add something unasked while the GM is idle (design 17)."""
