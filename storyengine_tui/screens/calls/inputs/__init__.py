"""What a model was given, or is given next, in full; and how long inputs were (design 4 and 16)."""
