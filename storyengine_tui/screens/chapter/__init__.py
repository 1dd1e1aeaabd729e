"""The frame of the three tabs."""
