"""The terminal itself: its input, its output when it is gone, its clipboard."""
