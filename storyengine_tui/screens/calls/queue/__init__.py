"""What waits for a model, runs or has failed, and what can be done with it (design 17)."""
