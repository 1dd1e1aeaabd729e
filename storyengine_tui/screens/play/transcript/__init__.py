"""The top cell of tab 2: the events at hand, what is marked in them, the line of takes (design 9)."""
