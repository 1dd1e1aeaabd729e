"""Who is in the scene and who knows what, as tab 2 shows it (design 13)."""
