"""Base classes of the pages of the three tabs."""
