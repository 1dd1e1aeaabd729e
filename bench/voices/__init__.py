"""How well models of different sizes play: chapters played whole, and measures of what was written."""
