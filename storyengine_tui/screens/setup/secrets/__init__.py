"""Secrets on tab 1: the cell that lists them, and the screen of each."""
