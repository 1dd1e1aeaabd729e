"""The engine: commands in, notifications out, one transaction per outcome (design 6)."""
