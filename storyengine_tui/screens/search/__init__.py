"""The search over a chapter or a book."""
