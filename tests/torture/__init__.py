"""Torture: kills, faults, random play and a soak, with figures; `python -m tests.torture` runs all of it."""
