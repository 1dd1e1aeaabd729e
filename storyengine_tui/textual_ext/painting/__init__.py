"""Painting of frames: fewer bytes for the terminal, and less work for each frame."""
