"""Tab 1: world, chapter and characters."""
