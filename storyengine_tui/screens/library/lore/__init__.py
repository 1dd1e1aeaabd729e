"""A lorebook as it is edited: its entries, one entry, what a text activates, and the book itself."""
