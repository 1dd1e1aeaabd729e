"""Who is in the scene and who knows what: presence, lines of the GM, rolls, secrets (design 13)."""
