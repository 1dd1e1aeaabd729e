"""Requests: the worker, what executes them, and the calls that they make."""
