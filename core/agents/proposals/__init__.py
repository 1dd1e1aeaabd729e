"""Asks what could be proposed for a character of the library, and reads the answers (design 14 and 17)."""
