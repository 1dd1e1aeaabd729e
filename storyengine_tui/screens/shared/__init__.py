"""What the pages of the three tabs have in common."""
