"""The characters of the library: what is kept of each, and how cards become characters and back."""
