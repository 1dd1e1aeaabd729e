"""Parts of an input: segments, budgets, delimiters and the memory digest."""
