"""Fields: texts with a limit, ticks, and a choice of slots."""
