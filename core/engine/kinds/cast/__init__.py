"""Work for characters of the library, whose outcome is proposals (design 14 and 17)."""
