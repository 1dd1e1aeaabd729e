"""Measures the bundled models: the time of an embedding, what memory covers of play."""
