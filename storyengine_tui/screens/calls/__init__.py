"""The calls of models: their list, and one call in full."""
