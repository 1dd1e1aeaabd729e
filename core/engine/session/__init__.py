"""A session that is open in this window: its commands, and what is read of it."""
