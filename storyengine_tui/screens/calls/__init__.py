"""The calls of models: the queue, the history, their money, and one call in full."""
