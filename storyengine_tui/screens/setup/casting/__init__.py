"""Characters of the library for a slot of tab 1, and of a slot for the library."""
