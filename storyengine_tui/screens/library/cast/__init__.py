"""The characters of the library: the list of them, and what each one is."""
