"""What every role has: its model, its prompt, its budget, and texts made to fit (design 7)."""
