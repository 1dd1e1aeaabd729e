"""Lists of the library: the screen that they share, and its parts."""
