"""Measures the engine at play: its cost of a prompt, audiences, the queue, and other versions of it."""
