"""The library: books and chapters, characters, lorebooks, and what goes around the prompt."""
