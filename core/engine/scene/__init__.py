"""The scene of a chapter and who knows what: presence, lines of the GM, rolls, secrets (design 13)."""
