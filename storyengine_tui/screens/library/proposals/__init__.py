"""Changes that are proposed for characters of the library: read beside what is there, taken or dropped."""
