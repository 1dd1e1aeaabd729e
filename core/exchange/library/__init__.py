"""Cards, lorebooks and marks of the library in files, and the set that a new library starts with."""
