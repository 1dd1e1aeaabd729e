"""Changes of a character that are proposed to the GM: how one is taken, and those that need no model."""
