"""What a model is given: segments, budgets, delimiters and the memory digest."""
