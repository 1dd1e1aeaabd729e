"""A session, open in this window or not: its commands, and what is read of it."""
