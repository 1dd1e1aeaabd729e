"""Changes of a session that more than one command or outcome makes."""
