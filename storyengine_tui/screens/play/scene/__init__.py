"""Presence and knowledge of characters, as tab 2 shows them (design 13)."""
