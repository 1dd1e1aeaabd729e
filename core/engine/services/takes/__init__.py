"""Takes, undo, branches and rebuilt memory (design 12)."""
