"""The engine: commands in, notices out, every outcome one transaction (design 6)."""
