"""A session: its cast, its limits, its states, and what each state allows (design 4 and 5)."""
