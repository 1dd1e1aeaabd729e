"""Character cards: reads and writes JSON, PNG and CHARX, and keeps whatever it does not know."""
