"""Measures the real program from outside: in a pseudo-terminal, by its keys, on its screen."""
